"""Work shared out over processes: what comes back, and what is left when one of them dies."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from ddpdoctor.lint import engine, files, registry, shares
from ddpdoctor.lint.settings import Settings

SETTINGS = Settings(registry.defaults())
HANGS = "import torch.distributed as dist\n\nif dist.get_rank() == 0:\n    dist.barrier()\n"

pytestmark = pytest.mark.skipif(not shares.possible(), reason="this system does not fork")


def test_results_come_back_by_their_index() -> None:
    assert dict(shares.each(lambda n: "x" * n, [3, 200_000, 0], 2)) == {0: "xxx", 1: "x" * 200_000, 2: ""}


def test_a_process_that_fails_or_is_killed_is_lost_alone() -> None:
    def task(what: str) -> str:
        if what == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "raises":
            raise ValueError
        return what

    found = dict(shares.each(task, ["killed", "fine", "raises"], 3))
    assert found == {0: shares.Lost(signal.SIGKILL), 1: "fine", 2: shares.Lost(0)}


def test_an_end_before_the_last_result_leaves_no_process() -> None:
    before = set(psutil.Process().children())
    results = shares.each(lambda n: time.sleep(60 * n), [0, 1, 1], 2)
    assert next(iter(results)) == (0, None)
    assert len(set(psutil.Process().children()) - before) == 1
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


def test_a_file_that_kills_its_process_is_one_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = engine.Linter.file

    def fatal(self: engine.Linter, path: str, *, named: bool) -> engine.Result:
        if path.endswith("c.py"):
            os.kill(os.getpid(), signal.SIGKILL)
        return before(self, path, named=named)

    paths = _tree(tmp_path)
    monkeypatch.setattr(engine.Linter, "file", fatal)
    report = engine.lint(paths, SETTINGS, jobs=2)
    by_file = {Path(f.file).name: f for f in report.findings}
    assert sorted(by_file) == ["a.py", "b.py", "c.py", "d.py"]
    assert by_file["c.py"].code == "DD199"
    assert "killed by signal 9" in by_file["c.py"].message
