"""Pure. The code frame: the lines around a location, with a caret under the relevant one."""

from __future__ import annotations

from ddpdoctor.model.diagnosis import Location
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.report.terminal_text import Screen, Style, Tint, columns

CHANGED = "[source changed after the job started]"


def code_frame(
    location: Location, source: SourceFile | None, screen: Screen, *, shown_path: str, before: int
) -> list[str]:
    """The path, `before` lines, the line, and a caret with its ranks.

    Source that was modified after the job started is not shown: its lines may not be the ones that ran.
    """
    style, width = screen.style, screen.width
    place = f"{style.line(shown_path)}:{location.line}"
    inside = f"  in {style.line(location.function)}" if location.function else ""
    if columns(f"  --> {place}{inside}") > width:
        inside = ""
    header = style.paint("  --> ", Tint.FAINT) + style.paint(place, Tint.PLACE) + style.paint(inside, Tint.FAINT)
    if source is not None and source.changed:
        return [header, f"{'':>5}{style.bar} {style.paint(style.cut(CHANGED, width - 7), Tint.WARN)}"]
    lines = _numbered(location, source, before)
    if not lines:
        return [header]
    gutter = max(4, len(str(location.line)) + 1)
    room = width - gutter - 3
    clean = [(number, style.clean(text).replace("\n", " ").rstrip()) for number, text in lines]
    indent = min((columns(text) - columns(text.lstrip()) for _, text in clean if text), default=0)
    shown = [(number, style.cut(text[indent:] if room < 60 else text, room)) for number, text in clean]
    frame = [header]
    frame.extend(f"{number:>{gutter}} {style.bar} {text}".rstrip() for number, text in shown)
    return [*frame, f"{'':>{gutter}} {style.bar} {_caret(shown[-1][1], location.ranks, room, style)}"]


def ranks_in_words(ranks: RankSet) -> str:
    """`rank 3`, `ranks 0-2,4`, or "" for none."""
    return f"rank{'s' if len(ranks) > 1 else ''} {ranks}" if len(ranks) else ""


def _numbered(location: Location, source: SourceFile | None, before: int) -> list[tuple[int, str]]:
    """The line and those before it, as far as the text goes; only the line itself if nothing else is known."""
    if source is not None:
        text = source.text.split("\n")
        last = location.line - source.first
        if 0 <= last < len(text) and text[last].strip():
            first = max(0, last - before)
            numbered = [(source.first + i, text[i]) for i in range(first, last + 1)]
            return _without_leading_blanks(numbered)
    return [(location.line, location.source)] if location.source.strip() else []


def _without_leading_blanks(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    while lines and not lines[0][1].strip():
        lines = lines[1:]
    return lines


def _caret(text: str, ranks: RankSet, room: int, style: Style) -> str:
    """As long as the code, or as long as it can be with the ranks after it."""
    start = columns(text) - columns(text.lstrip())
    caption = style.cut(ranks_in_words(ranks), 24)
    behind = columns(caption) + 1 if caption else 0
    carets = "^" * max(1, min(columns(text.strip()), room - start - behind))
    return " " * start + style.paint(f"{carets} {caption}".rstrip(), Tint.ALARM)
