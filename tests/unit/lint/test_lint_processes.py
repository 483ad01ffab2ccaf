"""Lint with several processes: the same findings as with one, and the result if one of them dies."""

from __future__ import annotations

import ast
import os
import signal
from pathlib import Path

import pytest

from ddpdoctor import workers
from ddpdoctor.lint import engine, files, registry
from ddpdoctor.lint.file_result import FileResult
from ddpdoctor.lint.linter import Linter
from ddpdoctor.lint.settings import Settings
from ddpdoctor.program import source

SETTINGS = Settings(registry.defaults())
HANGS = "import torch.distributed as dist\n\nif dist.get_rank() == 0:\n    dist.barrier()\n"

pytestmark = pytest.mark.skipif(not workers.can_fork(), reason="this system does not fork")


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
        "def step(loss):\n    loss.backward()\n\n\n"
        "def start():\n    dist.init_process_group('gloo')\n"
    )
    (tmp_path / "train.py").write_text(
        "from parts import save, start, step\n\nif __name__ == '__main__':\n    start()\n"
        "    for loss in range(3):\n        step(loss)\n        save(1)\n"
    )
    report = engine.lint([str(tmp_path)], SETTINGS)
    assert [(Path(f.file).name, f.line) for f in report.findings if f.code == "DD171"] == [("train.py", 7)]


def test_a_file_that_kills_its_process_is_one_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Linter.file

    def fatal(self: Linter, path: str, *, named: bool) -> FileResult:
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


def test_a_file_that_others_import_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "z_roles.py").write_text(
        "import torch.distributed as dist\n\ndef rank():\n    return dist.get_rank()\n"
    )
    for name in ("a", "b"):
        text = f"import torch.distributed as dist\nfrom z_roles import rank\n{name} = rank()\n"
        (tmp_path / f"{name}.py").write_text(text)
    parsed: list[str] = []
    parse = source.parse

    def counted(text: str) -> ast.Module | source.Unreadable:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(source, "parse", counted)
    assert engine.lint([str(tmp_path)], SETTINGS).mattering == 3
    assert len(parsed) == len(set(parsed))
