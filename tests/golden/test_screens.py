"""The rendered reports, character by character.

Run with DDPDOCTOR_WRITE_GOLDEN=1 to rewrite the files, and read the difference before committing it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ddpdoctor.report import json, markdown, terminal
from ddpdoctor.report.terminal_text import Screen
from tests.golden.reports import REPORTS

HERE = Path(__file__).parent
JOB = "job left running (--on-hang report)"
BUNDLE = "~/.local/state/ddpdoctor/runs/0822-1412-a3f/"


def _screen(name: str, width: int, *, color: bool = False, unicode: bool = True) -> str:
    return terminal.render(
        REPORTS[name], Screen(width, color, unicode), job=JOB, bundle=BUNDLE, directory="/home/ada/vision"
    )


def _compare(file: str, text: str) -> None:
    path = HERE / file
    if os.environ.get("DDPDOCTOR_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("width", [60, 100, 200])
def test_the_screen_is_as_it_was(name: str, width: int) -> None:
    _compare(f"{name}.{width}.txt", _screen(name, width))


@pytest.mark.parametrize("name", ["hang-certain", "crash"])
def test_the_coloured_and_the_ascii_screen_are_as_they_were(name: str) -> None:
    _compare(f"{name}.color.txt", _screen(name, 100, color=True))
    _compare(f"{name}.ascii.txt", _screen(name, 100, unicode=False))


@pytest.mark.parametrize("name", REPORTS)
def test_the_json_is_as_it_was(name: str) -> None:
    _compare(f"{name}.json", json.render(REPORTS[name]))


@pytest.mark.parametrize("name", REPORTS)
def test_the_markdown_is_as_it_was(name: str) -> None:
    """Not named `.md`: the formatter would format the code in it."""
    _compare(f"{name}.markdown.txt", markdown.render(REPORTS[name], directory="/home/ada/vision"))
