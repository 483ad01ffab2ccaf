"""Pure. Text for a terminal: sanitised, measured in columns, wrapped, cut, coloured."""

from __future__ import annotations

import unicodedata
from enum import Enum

from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.model.record import record

# whole CSI and OSC sequences are removed, so that no "[31m" remains
_ESCAPES = late_pattern(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-_]")
_TAB = 4


class Tint(Enum):
    """The meaning of a part of the text; the value is its SGR code."""

    ALARM = "1;31"
    WARN = "1;33"
    GOOD = "1;32"
    CODE = "36"
    #: the line to look at
    PLACE = "1;36"
    LABEL = "1"
    FAINT = "2"
    PLAIN = ""


@record(frozen=True, slots=True)
class Style:
    """What the terminal supports: `color` for SGR codes, `unicode` for more than ASCII."""

    color: bool = False
    unicode: bool = True

    def paint(self, text: str, tint: Tint) -> str:
        if not self.color or not text or tint is Tint.PLAIN:
            return text
        return f"\x1b[{tint.value}m{text}\x1b[0m"

    @property
    def ellipsis(self) -> str:
        return "…" if self.unicode else "..."

    @property
    def bar(self) -> str:
        return "│" if self.unicode else "|"

    def clean(self, text: str) -> str:
        """Without escape sequences, control and direction-changing characters; tabs and unusual blanks become spaces.

        Whatever a job printed, named or raised is passed through this before it is shown.
        """
        if not text.isprintable():
            text = "".join(_harmless(c) for c in _ESCAPES.sub("", text).expandtabs(_TAB))
        return text if self.unicode else text.encode("ascii", "backslashreplace").decode("ascii")

    def line(self, text: str) -> str:
        """One clean line: every run of white space becomes one space."""
        return " ".join(self.clean(text).split())

    def cut(self, text: str, width: int) -> str:
        """The text, or its beginning with an ellipsis, in at most `width` columns."""
        if columns(text) <= width:
            return text
        kept = ""
        for character in text:
            if columns(kept + character) > width - len(self.ellipsis):
                break
            kept += character
        return kept.rstrip() + self.ellipsis

    def wrap(self, text: str, width: int) -> list[str]:
        """Lines of at most `width` columns; a word that is longer than a line is broken."""
        lines: list[str] = []
        current = ""
        for word in self.line(text).split(" "):
            candidate = f"{current} {word}" if current else word
            if columns(candidate) <= width:
                current = candidate
                continue
            if current:
                lines.append(current)
            *full, current = _pieces(word, width)
            lines.extend(full)
        return [*lines, current] if current else lines


@record(frozen=True, slots=True)
class Screen:
    """How text is rendered on a stream: `width` in columns, `color` and `unicode` as in Style."""

    width: int
    color: bool = False
    unicode: bool = True

    @property
    def style(self) -> Style:
        return Style(self.color, self.unicode)


def columns(text: str) -> int:
    """Terminal columns: two for wide East Asian characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def pad(text: str, width: int) -> str:
    """The text padded with spaces to `width` columns."""
    return text + " " * (width - columns(text))


def _harmless(character: str) -> str:
    if character == "\n" or character.isprintable():
        return character
    return " " if unicodedata.category(character).startswith("Z") else ""


def _pieces(word: str, width: int) -> list[str]:
    pieces = [""]
    for character in word:
        if pieces[-1] and columns(pieces[-1] + character) > width:
            pieces.append("")
        pieces[-1] += character
    return pieces
