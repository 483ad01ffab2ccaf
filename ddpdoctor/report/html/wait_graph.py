"""Pure. Who waits for whom, as a drawing: ranks that do and need the same are one box; what holds all others is marked.

That is the circle, if ranks wait for one another in one, else the sinks: ranks that others wait for and that wait for
nobody.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ddpdoctor.model.exhibit import Exhibit
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.report import RankStatus
from ddpdoctor.report.code_frame import ranks_in_words
from ddpdoctor.report.html.element import Child, Markup, element, scrolling, section

#: boxes that are drawn
MOST_NODES = 14
_BOX, _TALL, _ACROSS, _DOWN, _EDGE = 230, 62, 130, 34, 18
_LETTERS = 30
#: boxes among which a circle is looked for
_MOST_SEARCHED = 600


@dataclass(frozen=True, slots=True)
class Node:
    """Ranks in the same state that wait for the same ranks."""

    ranks: RankSet
    state: str
    label: str
    place: str


@dataclass(frozen=True, slots=True)
class Graph:
    """Boxes and arrows; `core` holds all others up."""

    nodes: tuple[Node, ...]
    #: (from, to) -> one of its targets is enough
    arrows: Mapping[tuple[int, int], bool]
    core: frozenset[int]
    #: the core is a circle
    circular: bool


def graph(exhibit: Exhibit) -> Graph | None:
    """The graph, None if no rank is known to wait for another."""
    if not exhibit.edges:
        return None
    targets = {edge.rank: edge.targets for edge in exhibit.edges}
    either = {edge.rank for edge in exhibit.edges if edge.any_of}
    nodes = _nodes(exhibit, targets)
    home = {rank: number for number, node in enumerate(nodes) for rank in node.ranks}
    arrows: dict[tuple[int, int], bool] = {}
    for number, node in enumerate(nodes):
        first = node.ranks.members[0]
        for target in targets.get(first, ()):
            arrows[(number, home[target])] = first in either
    circle = _circle(len(nodes), arrows)
    waited = {target for _, target in arrows}
    waiting = {source for source, _ in arrows}
    return Graph(nodes, arrows, frozenset(circle or waited - waiting), bool(circle))


def _nodes(exhibit: Exhibit, targets: Mapping[Rank, RankSet]) -> tuple[Node, ...]:
    statuses = {status.rank: status for status in exhibit.report.ranks}
    named = {*targets, *(rank for needed in set(targets.values()) for rank in needed)}
    found: dict[object, list[Rank]] = {}
    for rank in sorted(named):
        found.setdefault((_told(statuses.get(rank)), targets.get(rank)), []).append(rank)
    return tuple(Node(RankSet.of(ranks), *_told(statuses.get(ranks[0]))) for ranks in found.values())


def _told(status: RankStatus | None) -> tuple[str, str, str]:
    if status is None:
        return "unseen", "", ""
    where = status.location
    return status.state, status.label, f"{where.file.rpartition('/')[2]}:{where.line}" if where else ""


def _circle(count: int, arrows: Mapping[tuple[int, int], bool]) -> frozenset[int]:
    """Boxes of the largest circle that nothing leads out of; empty if there is none.

    A box is in a circle with those that it reaches and that reach it.
    """
    onward: dict[int, set[int]] = {number: set() for number in range(count)}
    for source, target in arrows:
        onward[source].add(target)
    reached = {number: _reach(number, onward) for number in range(min(count, _MOST_SEARCHED))}
    circles = {
        frozenset(other for other in reach if other in reached and number in reached[other])
        for number, reach in reached.items()
    }
    closed = [c for c in circles if c and all(reached[number] <= c for number in c)]
    return max(closed, key=lambda c: (len(c), -min(c)), default=frozenset())


def _reach(start: int, onward: Mapping[int, set[int]]) -> set[int]:
    """What can be reached in one step or more."""
    reached: set[int] = set()
    ahead = list(onward[start])
    while ahead:
        node = ahead.pop()
        if node not in reached:
            reached.add(node)
            ahead.extend(onward[node] - reached)
    return reached


def drawn(exhibit: Exhibit) -> Child:
    """The section, None if no rank is known to wait for another."""
    found = graph(exhibit)
    if found is None:
        return None
    shown = _shown(found)
    places = _layout(found, shown)
    width = max(x for x, _ in places.values()) + _BOX / 2 + _EDGE
    height = max(y for _, y in places.values()) + _TALL / 2 + _EDGE
    arrows = [pair for pair in found.arrows if pair[0] in places and pair[1] in places]
    picture = element(
        "svg",
        element("title", _in_words(found)),
        *(part for pair in arrows for part in _arrow(found, pair, places)),
        *(part for number in shown for part in _box(found, number, places[number])),
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        role="img",
    )
    left = sum(len(node.ranks) for n, node in enumerate(found.nodes) if n not in shown)
    return section(
        "waits",
        "Who waits for whom",
        scrolling("The wait-for graph", picture),
        element("p", f"and {left} more ranks", class_="lead") if left else None,
        lead=_in_words(found),
    )


def _in_words(found: Graph) -> str:
    core = ranks_in_words(RankSet.of(rank for number in found.core for rank in found.nodes[number].ranks))
    dashed = " A dashed arrow: one of these ranks is enough." if any(found.arrows.values()) else ""
    if found.circular:
        return (
            f"An arrow leads to what a rank waits for. Marked: the circle of {core}, in which none can go on.{dashed}"
        )
    return f"An arrow leads to what a rank waits for. Marked: {core}, which all others wait for in the end.{dashed}"


def _shown(found: Graph) -> tuple[int, ...]:
    """The boxes of the core, then the largest others."""
    order = sorted(range(len(found.nodes)), key=lambda n: (n not in found.core, -len(found.nodes[n].ranks), n))
    return tuple(sorted(order[:MOST_NODES]))


def _layout(found: Graph, shown: Sequence[int]) -> dict[int, tuple[float, float]]:
    """The middle of each box: the core on the right, and each other box as far left as it is away from it."""
    levels = _levels(found, shown)
    columns = [[n for n in shown if levels[n] == level] for level in range(max(levels.values()), -1, -1)]
    columns = [column for column in columns if column]
    places: dict[int, tuple[float, float]] = {}
    x = _EDGE + _BOX / 2
    for column in columns:
        width = 0.0
        if found.circular and len(column) > 2 and set(column) <= found.core:
            width = _BOX * 0.62
            middle = x + width
            high = len(column) * (_TALL + _DOWN) / 4 + 20
            for number, box in enumerate(column):
                angle = 2 * math.pi * number / len(column) - math.pi / 2
                places[box] = (middle + width * math.cos(angle), high * math.sin(angle))
        else:
            for number, box in enumerate(column):
                places[box] = (x, (number - (len(column) - 1) / 2) * (_TALL + _DOWN + 12))
        x += 2 * width + _BOX + _ACROSS
    top = min(y for _, y in places.values()) - _TALL / 2 - _EDGE
    return {number: (x, y - top) for number, (x, y) in places.items()}


def _levels(found: Graph, shown: Sequence[int]) -> dict[int, int]:
    """Steps to the core along the arrows; boxes that do not reach it come first."""
    back: dict[int, list[int]] = {}
    for source, target in found.arrows:
        back.setdefault(target, []).append(source)
    levels = dict.fromkeys(found.core, 0)
    ahead = list(found.core)
    for box in ahead:
        for source in back.get(box, ()):
            if source not in levels:
                levels[source] = levels[box] + 1
                ahead.append(source)
    return {number: levels.get(number, max(levels.values(), default=0) + 1) for number in shown}


def _box(found: Graph, number: int, place: tuple[float, float]) -> Iterator[Markup]:
    node = found.nodes[number]
    left, top = place[0] - _BOX / 2, place[1] - _TALL / 2
    core = " core" if number in found.core else ""
    title = element("title", f"{ranks_in_words(node.ranks)}: {node.state} {node.label} {node.place}")
    yield element("rect", title, x=f"{left:.1f}", y=f"{top:.1f}", width=_BOX, height=_TALL, rx=8, class_=f"node{core}")
    count = f" ({len(node.ranks)})" if len(node.ranks) > 1 else ""
    lines = (f"{ranks_in_words(node.ranks)}{count}", f"{node.state} {node.label}", node.place)
    for line, (text, kind) in enumerate(zip(lines, ("strong", None, "soft"), strict=True)):
        shown = text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"
        yield element("text", shown, x=f"{left + 10:.1f}", y=f"{top + 18 + 17 * line:.1f}", class_=kind)


def _arrow(found: Graph, pair: tuple[int, int], places: Mapping[int, tuple[float, float]]) -> Iterator[Markup]:
    (x0, y0), (x1, y1) = places[pair[0]], places[pair[1]]
    long = math.hypot(x1 - x0, y1 - y0) or 1.0
    across, along = (y1 - y0) / long, (x1 - x0) / long
    # two arrows between the same boxes stand beside each other
    aside = 12.0 if (pair[1], pair[0]) in found.arrows else 0.0
    x0, x1, y0, y1 = x0 + across * aside, x1 + across * aside, y0 - along * aside, y1 - along * aside
    x0, y0 = _border((x0, y0), along, across, places[pair[0]])
    x1, y1 = _border((x1, y1), -along, -across, places[pair[1]])
    core = " core" if set(pair) <= found.core else ""
    dashed = " any" if found.arrows[pair] else ""
    yield element(
        "line",
        x1=f"{x0:.1f}",
        y1=f"{y0:.1f}",
        x2=f"{x1 - along * 8:.1f}",
        y2=f"{y1 - across * 8:.1f}",
        class_=f"edge{core}{dashed}",
    )
    points = " ".join(
        f"{x1 - along * back - across * wide:.1f},{y1 - across * back + along * wide:.1f}"
        for back, wide in ((0, 0), (11, 5), (11, -5))
    )
    yield element("polygon", points=points, class_=f"head{core}")


def _border(
    point: tuple[float, float], along: float, across: float, middle: tuple[float, float]
) -> tuple[float, float]:
    """Where a ray from a point inside of a box in this direction leaves the box."""
    steps = []
    for here, direction, centre, half in (
        (point[0], along, middle[0], _BOX / 2),
        (point[1], across, middle[1], _TALL / 2),
    ):
        if abs(direction) > 1e-9:
            steps.append((centre + math.copysign(half, direction) - here) / direction)
    step = max(min(steps, default=0.0), 0.0)
    return point[0] + along * step, point[1] + across * step
