"""Lint as a flake8 plug-in: what flake8 passes, what it gets back, and how it finds the plug-in."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ddpdoctor.cli import flake8
from tests.unit.lint.command import BROKEN


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    flake8._linter.cache_clear()
    return tmp_path


def _run(filename: str, text: str) -> list[tuple[int, int, str]]:
    plugin = flake8.Plugin(ast.parse(text), filename, text.splitlines(keepends=True))
    return [(line, column, said[:5]) for line, column, said, _ in plugin.run()]


def test_findings_as_flake8_counts_them(here: Path) -> None:
    assert _run("stdin", BROKEN) == [(5, 8, "DD111")]
    (here / "train.py").write_text(BROKEN)
    assert _run("train.py", BROKEN) == [(5, 8, "DD111")]
    assert _run("stdin", "x = 1\n") == []


def test_it_is_configured_as_lint_is(here: Path) -> None:
    (here / "pyproject.toml").write_text("[tool.ddpdoctor.lint]\nignore = ['DD111']\n")
    assert _run("stdin", BROKEN) == []


def test_flake8_finds_it_by_its_entry_point() -> None:
    project = (Path(flake8.__file__).parents[2] / "pyproject.toml").read_text()
    assert '[project.entry-points."flake8.extension"]\nDD1 = "ddpdoctor.cli.flake8:Plugin"\n' in project
