"""Terminal capabilities, and where ddpdoctor's own arguments end."""

from __future__ import annotations

import io

import pytest

from ddpdoctor.cli import options


class Stream(io.StringIO):
    def __init__(self, terminal: bool, encoding: str = "utf-8") -> None:
        super().__init__()
        self._terminal = terminal
        self._encoding = encoding

    def isatty(self) -> bool:
        return self._terminal

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding


@pytest.mark.parametrize(
    ("terminal", "environ", "color"),
    [
        (True, {"TERM": "xterm"}, True),
        (True, {"TERM": "dumb"}, False),
        (True, {}, False),
        (False, {"TERM": "xterm"}, False),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (True, {"TERM": "xterm", "NO_COLOR": ""}, True),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colour(terminal: bool, environ: dict[str, str], color: bool) -> None:
    assert options.screen(Stream(terminal), environ).color is color


@pytest.mark.parametrize(
    ("encoding", "unicode"), [("utf-8", True), ("UTF8", True), ("ascii", False), ("ANSI_X3.4-1968", False)]
)
def test_more_than_ascii_only_where_it_can_be_shown(encoding: str, unicode: bool) -> None:
    assert options.screen(Stream(True, encoding), {}).unicode is unicode


def test_a_log_is_a_hundred_columns_wide_unless_it_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    assert options.screen(Stream(False), {}).width == 100
    assert options.screen(Stream(False), {"COLUMNS": "72"}).width == 72


def test_the_first_dashes_end_our_arguments() -> None:
    assert options.split_command(["--quiet", "--", "run", "--", "x"]) == (["--quiet"], ("run", "--", "x"))
    assert options.split_command(["run"]) == (["run"], None)
    assert options.split_command(["--"]) == ([], ())


def test_a_word_that_is_near_nothing_is_not_guessed() -> None:
    assert options.closest("wach", ["watch", "lint"]) == "watch"
    assert options.closest("zzz", ["watch", "lint"]) == ""
