"""Whatever a job prints and whenever we draw, the terminal shows the job's text as if it were alone."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ddpdoctor.cli import terminal_strip

pyte = pytest.importorskip("pyte", reason="pyte, a terminal in Python, is not installed")

COLUMNS, LINES = 40, 14
#: what training jobs print: text, ends of lines, bars that return to the line's start, colours, bars one above another
TEXTS = st.lists(
    st.one_of(
        st.text("ab \u00e9", max_size=60),
        st.sampled_from(
            ["\r\n", "\r\n\r\n", "\r", "\b", "\t", "\x1b[31m", "\x1b[0m", "\x1b[K", "\r\n\x1b[A", "\x1b[B"]
        ),
    ),
    max_size=60,
)


SCREEN: Any = pyte.HistoryScreen


class FullRows(SCREEN):  # type: ignore[misc]  # pyte has no types
    """What is saved with the cursor is also that it stands behind the last column of a full row, as DEC's manuals have
    it and xterm does; pyte and tmux forget that."""

    def restore_cursor(self) -> None:
        full = bool(self.savepoints) and self.savepoints[-1].cursor.x == self.columns
        super().restore_cursor()
        if full:
            self.cursor.x = self.columns


class Terminal:
    """A screen with everything that has scrolled off it."""

    def __init__(self, lines: int) -> None:
        self._screen: Any = FullRows(COLUMNS, lines, history=10_000, ratio=1.0)
        self._stream = pyte.Stream(self._screen)
        self.feed = self._stream.feed

    def lines(self) -> list[str]:
        gone = ["".join(row[column].data for column in range(COLUMNS)) for row in self._screen.history.top]
        return [line.rstrip() for line in (*gone, *self._screen.display)]

    def shown(self) -> list[str]:
        return [str(line).rstrip() for line in self._screen.display]


@example(before=[], during=["a" * COLUMNS, "a"], after=[], count=1)
@example(before=[], during=["a" * COLUMNS], after=["a"], count=1)
@given(before=TEXTS, during=TEXTS, after=TEXTS, count=st.integers(1, 3))
def test_the_job_s_text_is_as_it_is_without_us(
    before: list[str], during: list[str], after: list[str], count: int
) -> None:
    ours, alone = Terminal(LINES), Terminal(LINES - count)
    # a job that has a smaller terminal of its own: text that has scrolled off is out of reach sooner
    before = [text for text in before if text.isprintable() or text == "\r\n"]
    for terminal in (ours, alone):
        terminal.feed("".join(before) + "\r\n")
    ours.feed(terminal_strip._taken(count, LINES, again=False))
    for number, text in enumerate(during):
        ours.feed(terminal_strip._drawn([f"\x1b[33mours {number}"] * count, LINES))
        assert ours.shown()[-count:] == [f"ours {number}"] * count
        ours.feed(text)
        alone.feed(text)
    ours.feed(terminal_strip._given_up(count))
    assert "ours" not in "".join(ours.lines())
    assert "\n".join(ours.lines()).rstrip() == "\n".join(alone.lines()).rstrip()
    for text in [text for text in after if text != "\x1b[B"]:
        ours.feed(text)
        alone.feed(text)
    assert "\n".join(ours.lines()).rstrip() == "\n".join(alone.lines()).rstrip()


def test_the_job_s_colour_and_place_are_kept() -> None:
    terminal = Terminal(LINES)
    terminal.feed(terminal_strip._taken(1, LINES, again=False))
    terminal.feed("\x1b[31mred ")
    terminal.feed(terminal_strip._drawn(["ours"], LINES))
    terminal.feed("still")
    row = terminal._screen.buffer[0]
    assert [row[column].fg for column in (0, 4, 8)] == ["red"] * 3
    assert terminal._screen.buffer[LINES - 1][0].fg == "default"
    assert terminal.shown()[0] == "red still"


def test_only_a_terminal_of_a_known_kind_is_drawn_on(monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("ddpdoctor.launch.foreground.foreground", lambda: 1)
    drawn = {
        name: terminal_strip.usable(Screen(), {"TERM": name}) for name in ("xterm-256color", "dumb", "linux", "screen")
    }
    assert drawn == {"xterm-256color": True, "dumb": False, "linux": False, "screen": False}
    assert terminal_strip.usable(Screen(), {"TERM": "screen-256color", "TMUX": "/tmp/x,1,0"})
    assert not terminal_strip.usable(Screen(), {})
    assert not terminal_strip.usable(io.StringIO(), {"TERM": "xterm"})
    monkeypatch.setattr("ddpdoctor.launch.foreground.foreground", lambda: None)
    assert not terminal_strip.usable(Screen(), {"TERM": "xterm"})
