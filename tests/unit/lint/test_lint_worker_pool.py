"""Work shared out over processes: what comes back, and what is left when one of them dies."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from ddpdoctor.lint import engine, files, registry, worker_pool
from ddpdoctor.lint.linter import Linter, Result
from ddpdoctor.lint.settings import Settings

SETTINGS = Settings(registry.defaults())
HANGS = "import torch.distributed as dist\n\nif dist.get_rank() == 0:\n    dist.barrier()\n"

pytestmark = pytest.mark.skipif(not worker_pool.possible(), reason="this system does not fork")


def test_every_item_comes_back_with_its_result() -> None:
    lengths = [[3, 200_000], [], [0], [7, 8, 9, 10, 11]]
    found = list(worker_pool.each(lambda: lambda n: "x" * n, lengths, 2))
    assert sorted(found) == sorted((n, "x" * n) for share in lengths for n in share)


def test_each_process_begins_anew_and_keeps_its_share() -> None:
    def begin() -> Callable[[int], tuple[int, int]]:
        seen: list[int] = []

        def task(item: int) -> tuple[int, int]:
            seen.append(item)
            return os.getpid(), len(seen)

        return task

    found = dict(worker_pool.each(begin, [[1, 2, 3], [4, 5]], 1))
    told = {item: made for item, made in found.items() if not isinstance(made, worker_pool.Lost)}
    processes = {item: pid for item, (pid, _) in told.items()}
    assert processes[1] == processes[2] == processes[3] != processes[4] == processes[5]
    assert {item: nth for item, (_, nth) in told.items()} == {1: 1, 2: 2, 3: 3, 4: 1, 5: 2}


def test_who_has_nothing_left_takes_half_of_the_longest_share() -> None:
    def task(item: int) -> int:
        time.sleep(0.05)
        return os.getpid()

    found = dict(worker_pool.each(lambda: task, [list(range(12)), [12]], 2))
    assert sorted(found) == list(range(13))
    assert len(set(found.values())) > 2


def test_an_item_whose_process_fails_or_is_killed_is_lost_alone() -> None:
    def task(what: str) -> str:
        if what == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "raises":
            raise ValueError
        return what

    found = dict(worker_pool.each(lambda: task, [["a", "killed", "b", "raises", "c"], ["d"]], 2))
    lost = {"killed": worker_pool.Lost(signal.SIGKILL), "raises": worker_pool.Lost(0)}
    assert found == {"a": "a", "b": "b", "c": "c", "d": "d", **lost}


def test_an_end_before_the_last_result_leaves_no_process() -> None:
    before = set(psutil.Process().children())
    results = worker_pool.each(lambda: lambda n: time.sleep(60 * n), [[0], [1], [1]], 2)
    assert next(iter(results)) == (0, None)
    results.close()
    assert set(psutil.Process().children()) <= before


def _tree(folder: Path) -> list[str]:
    for name in "abcd":
        (folder / f"{name}.py").write_text(HANGS + "#" * engine.SMALL)
    return [str(folder)]


def test_as_many_findings_by_several_processes_as_by_one(tmp_path: Path) -> None:
    paths = _tree(tmp_path)
    one, several = engine.lint(paths, SETTINGS), engine.lint(paths, SETTINGS, jobs=3)
    assert one == several
    assert len(one.findings) >= len("abcd")


def test_the_bytes_of_many_files_are_looked_at_by_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LOOKS", 2)
    (tmp_path / "b1.py").write_text("x = 1\n")
    found = list(files.discover(_tree(tmp_path), SETTINGS))
    assert [Path(path).name for path, _, _ in files.mattering(found, 2)] == ["a.py", "b.py", "c.py", "d.py"]
    assert files.mattering(found, 2) == files.mattering(found, 1)


def test_a_script_matters_that_starts_a_file_that_does(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "dist.py").write_text("import torch.distributed\n")
    (tmp_path / "shop" / "plain.py").write_text("x = 1\n")
    for name, line in {
        "train": "from shop.dist import setup", "eval": "import shop.dist as d", "again": "from shop import (x, dist)",
        "plain": "from shop.plain import x", "other": "from torch import nn", "tools/bench": "from shop import dist",
    }.items():  # fmt: skip
        script = tmp_path / f"{name}.py"
        script.parent.mkdir(exist_ok=True)
        script.write_text(f"import os\n{line}\n\nif __name__ == '__main__':\n    pass\n")
    (tmp_path / "part.py").write_text("from shop.dist import setup\n")
    found = files.mattering(list(files.discover([str(tmp_path)], SETTINGS)), 1)
    assert {str(Path(path).relative_to(tmp_path)) for path, _, _ in found} == {
        "train.py", "eval.py", "again.py", "shop/dist.py", "tools/bench.py",
    }  # fmt: skip


def test_a_script_that_trains_through_its_package_is_linted(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text(
        "import torch\nimport torch.distributed as dist\n\n\ndef save(model):\n    torch.save(model, 'last.pt')\n\n\n"
        "def start():\n    dist.init_process_group('gloo')\n"
    )
    (tmp_path / "train.py").write_text(
        "from parts import save, start\n\nif __name__ == '__main__':\n    start()\n    save(1)\n"
    )
    report = engine.lint([str(tmp_path)], SETTINGS)
    assert [(Path(f.file).name, f.line) for f in report.findings if f.code == "DD171"] == [("train.py", 5)]


def test_a_file_that_kills_its_process_is_one_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Linter.file

    def fatal(self: Linter, path: str, *, named: bool) -> Result:
        if path.endswith("c.py"):
            os.kill(os.getpid(), signal.SIGKILL)
        return before(self, path, named=named)

    paths = _tree(tmp_path)
    monkeypatch.setattr(Linter, "file", fatal)
    report = engine.lint(paths, SETTINGS, jobs=2)
    by_file = {Path(f.file).name: f for f in report.findings}
    assert sorted(by_file) == ["a.py", "b.py", "c.py", "d.py"]
    assert by_file["c.py"].code == "DD199"
    assert "killed by signal 9" in by_file["c.py"].message
