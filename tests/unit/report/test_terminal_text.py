"""Text of a job cannot move the terminal's cursor, and no line is too wide."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.report.terminal_text import Style, Tint, columns, pad

ANY = st.text(max_size=60) | st.text("ab \x1b[31m\x07]0;\u202e\u200b世界é\t\r", max_size=60)
STYLES = st.sampled_from([Style(unicode=True), Style(unicode=False)])


@given(ANY, STYLES)
def test_no_control_character_is_left(text: str, style: Style) -> None:
    clean = style.clean(text)
    assert all(c == "\n" or c.isprintable() for c in clean)
    assert style.unicode or clean.isascii()


@given(ANY, st.integers(4, 40), STYLES)
def test_wrapped_lines_fit_and_lose_no_word(text: str, width: int, style: Style) -> None:
    lines = style.wrap(text, width)
    assert all(columns(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == style.line(text).replace(" ", "")


@given(ANY, st.integers(4, 40), STYLES)
def test_a_cut_line_fits(text: str, width: int, style: Style) -> None:
    line = style.line(text)
    cut = style.cut(line, width)
    assert columns(cut) <= width
    assert cut == line or cut.endswith(style.ellipsis)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07shell", "shell"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\x00b\x9bc\u202ed\u200be", "abcde"),
        ("a\rb", "ab"),
        ("a\tb", "a   b"),
    ],
)
def test_escapes_go_as_a_whole(text: str, clean: str) -> None:
    assert Style().clean(text) == clean


def test_wide_characters_take_two_columns_and_combining_ones_none() -> None:
    assert columns("世界") == 4
    assert columns("e\u0301") == 1
    assert pad("世", 4) == "世  "


def test_colour_is_drawn_only_where_it_is_wanted() -> None:
    assert Style(color=False).paint("x", Tint.ALARM) == "x"
    assert Style(color=True).paint("x", Tint.ALARM) == "\x1b[1;31mx\x1b[0m"
    assert Style(color=True).paint("", Tint.ALARM) == ""
