"""One fault, one finding: what is said of copies of a file, and twice of a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ddpdoctor.cli.main import main
from ddpdoctor.lint import engine
from ddpdoctor.lint.settings import Settings

BARRIER = """\
import torch.distributed as dist

if dist.get_rank() == 0:
    dist.barrier()
"""
TWICE = """\
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads, self.width = 2, 3


net = DistributedDataParallel(Net())
print(net.heads, net.width, net.heads)
"""


def _told(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, object]]:
    main(["lint", "--no-cache", "-o", "json", *options, str(folder)])
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


def test_a_fault_of_copies_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.py").write_text(BARRIER)
    (tmp_path / "c" / "train.py").write_text(BARRIER + "print()\n")
    first, third = _told(tmp_path, capsys)
    assert str(first["message"]).endswith(" (and in 1 copy of this file)")
    copies = [place for place in first["related"] if place["message"] == "a copy of this file"]  # type: ignore[attr-defined]
    assert [(Path(place["file"]).parent.name, place["line"]) for place in copies] == [("b", 4)]
    assert "copy" not in str(third["message"])


def test_what_is_said_twice_of_a_line_is_told_once_and_mended_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "train.py"
    script.write_text(TWICE)
    said = [found["message"] for found in _told(tmp_path, capsys, "--select", "DD166")]
    assert len(said) == 2
    assert "heads" in str(said[0])
    assert "width" in str(said[1])
    main(["lint", "--no-cache", "--select", "DD166", "--fix", "--unsafe-fixes", str(script)])
    assert script.read_text().endswith("print(net.module.heads, net.module.width, net.module.heads)\n")


def test_fixes_are_applied_to_all_copies(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(TWICE)
    main(["lint", "--no-cache", "--select", "DD166", "--fix", "--unsafe-fixes", str(tmp_path)])
    assert (tmp_path / "a.py").read_text() == (tmp_path / "b.py").read_text() != TWICE


def test_many_files_of_another_python_are_one_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abcde":
        (tmp_path / f"{name}.py").write_text("import torch.distributed as dist\nprint 'old'\n", encoding="utf-8")
    (tmp_path / "run.py").write_text("import a, b, c, d, e\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    few = engine.lint(["a.py", "b.py", "c.py"], Settings(frozenset({"DD199"}))).findings
    assert [finding.file for finding in few] == ["a.py", "b.py", "c.py"]
    (finding,) = engine.lint(["."], Settings(frozenset({"DD199"}))).findings
    assert finding.file == "a.py"
    assert finding.message.endswith("(and 4 more files do not parse)")
    assert [place.file for place in finding.related] == ["b.py", "c.py", "d.py", "e.py"]


PARTS = """\
import torch.distributed as dist


def run(chosen, tensor):
    if chosen:
        dist.barrier()
    print(tensor)
    if chosen:
        dist.all_reduce(tensor)
"""
RUNS = """\
import torch
import torch.distributed as dist

from parts import run

dist.init_process_group("gloo")
run(dist.get_rank() == 0, torch.ones(1))
"""


def test_what_one_line_comes_to_in_another_file_is_one_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "parts.py").write_text(PARTS)
    (tmp_path / "train.py").write_text(RUNS)
    monkeypatch.chdir(tmp_path)
    (finding,) = engine.lint(["train.py"], Settings(frozenset({"DD111"}))).findings
    assert finding.message.endswith(" (and at 1 more line there)")
    meant = [(place.line, place.message) for place in finding.related if place.file.endswith("parts.py")]
    assert meant[0] == (6, "it is here")
    assert meant[-1] == (9, "and here")
