"""Pure. Ranks by time, as a drawing: what each rank began in its last seconds, and where it parted from the others."""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.model.exhibit import Exhibit
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.report.code_frame import ranks_in_words
from ddpdoctor.report.html.element import Child, Markup, element, joined, scrolling, section, table
from ddpdoctor.report.lanes import PHASES, Bar, Lane, Strip, strip

#: in the drawing's units, which are pixels on a wide screen
_LEFT, _WIDTH, _HEIGHT, _GAP, _TOP = 130, 1000, 24, 8, 26
_RIGHT = 12
#: the same in words: events of each lane
_MOST_LISTED = 12
#: columns of a letter on a bar
_LETTER = 7.4


def drawn(exhibit: Exhibit) -> Child:
    """The section, None if no rank has recorded events."""
    found = strip(exhibit)
    if found is None:
        return None
    culprits = exhibit.report.diagnoses[0].culprits if exhibit.report.diagnoses else RankSet()
    height = _TOP + len(found.lanes) * (_HEIGHT + _GAP) + 26
    picture = element(
        "svg",
        element("title", "What each rank did in its last seconds; the table below says the same in words."),
        *_axis(found, height),
        *(mark for number, lane in enumerate(found.lanes) for mark in _lane(found, lane, number, culprits)),
        viewBox=f"0 0 {_LEFT + _WIDTH + _RIGHT} {height}",
        width=_LEFT + _WIDTH + _RIGHT,
        height=height,
        role="img",
    )
    hidden = f"{ranks_in_words(found.hidden)} are not drawn" if len(found.hidden) else ""
    parted = any(lane.parted is not None for lane in found.lanes)
    return section(
        "time",
        "The last seconds",
        scrolling("Ranks by time", picture),
        _legend(parted),
        element("p", hidden, class_="lead") if hidden else None,
        _in_words(found),
        lead=_lead(found),
    )


def _lead(found: Strip) -> str:
    waited = (
        f" Nothing happened in the {found.silence:.1f} s from then to the capture." if found.silence >= 0.05 else ""
    )
    return (
        "Each bar begins where a rank began something and ends where it began the next; time 0 is the newest event "
        f"of all ranks.{waited}"
    )


def _at(found: Strip, seconds: float) -> float:
    return _LEFT + _WIDTH * (seconds - found.start) / (found.end - found.start)


def _axis(found: Strip, height: int) -> Iterator[Markup]:
    """A line every round number of seconds, with its label at the bottom."""
    step = _round_step(-found.start / 5)
    tick = -int(-found.start / step) * step
    while tick <= step / 2:
        x = f"{_at(found, tick):.1f}"
        yield element("line", x1=x, x2=x, y1=_TOP - 6, y2=height - 22, class_="tick")
        shown = "0" if abs(tick) < step / 2 else _seconds(tick)
        yield element("text", shown, x=x, y=height - 8, text_anchor="middle", class_="soft")
        tick += step


def _round_step(seconds: float) -> float:
    """The next of 1, 2, 5, 10, ... times a power of ten."""
    power = 1e-6
    while power * 10 < seconds:
        power *= 10
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= seconds or factor == 10)


def _seconds(time: float) -> str:
    return f"{time:.3g} s" if abs(time) >= 1 else f"{time * 1000:.3g} ms"


def _lane(found: Strip, lane: Lane, number: int, culprits: RankSet) -> Iterator[Markup]:
    y = _TOP + number * (_HEIGHT + _GAP)
    odd = any(rank in culprits for rank in lane.ranks)
    yield element(
        "rect",
        x=0,
        y=y - 2,
        width=_LEFT + _WIDTH + _RIGHT,
        height=_HEIGHT + 4,
        class_="odd-lane" if odd else "lane",
        rx=3,
    )
    named = ranks_in_words(lane.ranks)
    label = named if len(named) <= 14 else f"{named[:13]}…"
    yield element("text", element("title", named), label, x=10, y=y + 16, class_="strong" if odd else None)
    for bar in lane.bars:
        yield from _bar(found, bar, y)
    if lane.parted is not None and found.start <= lane.parted <= found.end:
        x = _at(found, lane.parted)
        yield element("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=y - 4, y2=y + _HEIGHT + 4, class_="parting")
        points = f"{x - 5:.1f},{y - 7} {x + 5:.1f},{y - 7} {x:.1f},{y}"
        yield element("polygon", element("title", f"{named} parted here"), points=points, class_="parting-head")


def _bar(found: Strip, bar: Bar, y: int) -> Iterator[Markup]:
    left, right = _at(found, bar.start), _at(found, bar.end)
    width = max(right - left, 2.0)
    where = f" at {bar.place}" if bar.place else ""
    title = element("title", f"{bar.what}{where}, {_seconds(bar.start)}")
    yield element(
        "rect", title, x=f"{left:.1f}", y=y, width=f"{width:.1f}", height=_HEIGHT, rx=2, class_=f"bar {bar.phase}"
    )
    label = f"{bar.what} {bar.place}" if len(f"{bar.what} {bar.place}") * _LETTER < width - 8 else bar.what
    if len(label) * _LETTER < width - 8:
        yield element("text", label, x=f"{left + 5:.1f}", y=y + 16, class_="on-bar", pointer_events="none")


def _legend(parted: bool) -> Markup:
    items = [element("li", _swatch(phase), name) for phase, name in PHASES.items()]
    if parted:
        mark = element("polygon", points="1,2 11,2 6,11", class_="parting-head")
        items.append(element("li", _icon(mark), "the ranks part here"))
    return element("ul", *items, class_="legend")


def _swatch(phase: str) -> Markup:
    return _icon(element("rect", width=12, height=12, rx=2, class_=phase))


def _icon(shape: Markup) -> Markup:
    return element("svg", shape, width=12, height=12, viewBox="0 0 12 12", aria_hidden="true")


def _in_words(found: Strip) -> Markup:
    """The same as a table, for those who do not see the drawing."""
    rows = [(ranks_in_words(lane.ranks), lane.now, joined(_listed(lane))) for lane in found.lanes]
    made = table("The last events of each rank", ("ranks", "now", "last events, oldest first"), rows)
    return element("details", element("summary", "The same in words"), made)


def _listed(lane: Lane) -> Iterator[Child]:
    bars = lane.bars[-_MOST_LISTED:]
    for number, bar in enumerate(bars):
        parted = lane.parted is not None and abs(bar.start - lane.parted) < 1e-9
        said = f"{bar.what} {bar.place}".strip()
        yield element("strong", f"[parts] {said}") if parted else said
        yield ", " if number < len(bars) - 1 else None
