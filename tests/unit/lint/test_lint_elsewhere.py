"""A finding that one file proves in another: reported at the call that leads there, unless a comment suppresses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddpdoctor.lint import engine
from ddpdoctor.lint.settings import Settings

SCRIPT = "import time\nfrom loop import run\n\nif __name__ == '__main__':\n    run(time.time()){}\n"
LOOP = (
    "import torch.distributed as dist\n\n\ndef run(start):\n    for step in range(9):\n"
    "        if start > 3:\n            break{}\n        dist.barrier()\n"
)


def _lint(folder: Path, script: str, loop: str) -> list[tuple[str, int]]:
    (folder / "train.py").write_text(SCRIPT.format(script), encoding="utf-8")
    (folder / "loop.py").write_text(LOOP.format(loop), encoding="utf-8")
    report = engine.lint(["train.py", "loop.py"], Settings(frozenset({"DD113"})))
    return [(f"{f.file} {f.code}", f.line) for f in report.findings]


@pytest.mark.parametrize("comment", ["  # ddpdoctor: ignore[DD113] one clock", "  # noqa: DD113", "  # noqa"])
def test_a_comment_in_either_file_silences_it(comment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert _lint(tmp_path, "", "") == [("train.py DD113", 5)]
    assert _lint(tmp_path, "", comment) == []
    assert _lint(tmp_path, comment, "") == []


def test_a_comment_about_another_rule_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert _lint(tmp_path, "", "  # noqa: DD101") == [("train.py DD113", 5)]
    assert _lint(tmp_path, "", "  # a comment") == [("train.py DD113", 5)]
