"""Pure. Who waits for whom, as a drawing: ranks that do and need the same are one box; what holds all others is marked.

That is the circle, if ranks wait for one another in one, else the sinks: ranks that others wait for and that wait for
nobody.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    """Boxes and arrows."""

    nodes: tuple[Node, ...]
    #: (from, to) -> one of its targets is enough
    arrows: Mapping[tuple[int, int], bool]
    #: circles that nothing leads out of
    circles: tuple[frozenset[int], ...]
    #: boxes that are waited for and wait for nobody
    sinks: frozenset[int]

    @property
    def core(self) -> frozenset[int]:
        """What holds all others up."""
        return self.sinks.union(*self.circles)


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
    sinks = {target for _, target in arrows} - {source for source, _ in arrows}
    return Graph(nodes, arrows, _circles(len(nodes), arrows), frozenset(sinks))


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


def _circles(count: int, arrows: Mapping[tuple[int, int], bool]) -> tuple[frozenset[int], ...]:
    """Sets of boxes that wait for one another and for nobody else.

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
    return tuple(sorted((c for c in circles if c and all(reached[number] <= c for number in c)), key=min))


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
        lead=_in_words(found) + _sampled(exhibit),
    )


def _sampled(exhibit: Exhibit) -> str:
    if not exhibit.compared or exhibit.evidence is None:
        return ""
    return f" Of {len(exhibit.evidence.ranks)} ranks {exhibit.compared} were compared, some of every behaviour."


def _in_words(found: Graph) -> str:
    marked = []
    if found.circles:
        word = "the circle" if len(found.circles) == 1 else "circles"
        marked.append(f"{word} of {_ranks_of(found, frozenset().union(*found.circles))}, in which none can go on")
    if found.sinks:
        marked.append(f"{_ranks_of(found, found.sinks)}, which others wait for and which waits for nobody")
    dashed = " A dashed arrow: one of these ranks is enough." if any(found.arrows.values()) else ""
    return f"An arrow leads to what a rank waits for. Marked: {'; '.join(marked)}.{dashed}"


def _ranks_of(found: Graph, boxes: Iterable[int]) -> str:
    return ranks_in_words(RankSet.of(rank for number in boxes for rank in found.nodes[number].ranks))


def _shown(found: Graph) -> tuple[int, ...]:
    """The boxes of the core, then the largest others."""
    order = sorted(range(len(found.nodes)), key=lambda n: (n not in found.core, -len(found.nodes[n].ranks), n))
    return tuple(sorted(order[:MOST_NODES]))


def _layout(found: Graph, shown: Sequence[int]) -> dict[int, tuple[float, float]]:
    """The middle of each box: the core on the right, and each other box as far left as it is away from it."""
    levels = _levels(found, shown)
    columns = [[n for n in shown if levels[n] == level] for level in range(max(levels.values()), 0, -1)]
    columns += [[n for n in shown if n in circle] for circle in (*found.circles, found.sinks)]
    places: dict[int, tuple[float, float]] = {}
    x = _EDGE + _BOX / 2
    for column in filter(None, columns):
        round_ = len(column) > 2 and any(column[0] in circle for circle in found.circles)
        # boxes beside each other at the bottom must not overlap
        across = (_BOX + 24) / (2 * math.sin(math.pi / len(column))) if round_ else 0.0
        for number, (right, down) in zip(column, _spots(len(column), across), strict=True):
            places[number] = (x + across + right, down)
        x += 2 * across + _BOX + _ACROSS
    top = min(y for _, y in places.values()) - _TALL / 2 - _EDGE
    return {number: (x, y - top) for number, (x, y) in places.items()}


def _spots(count: int, across: float) -> Iterator[tuple[float, float]]:
    """Places around a middle: an ellipse of half the width `across`, or one below the other where that is 0."""
    down = count * (_TALL + _DOWN) / 4 + 20
    for number in range(count):
        angle = 2 * math.pi * number / count - math.pi / 2
        row = (number - (count - 1) / 2) * (_TALL + _DOWN + 12)
        yield (across * math.cos(angle), down * math.sin(angle)) if across else (0.0, row)


def _levels(found: Graph, shown: Sequence[int]) -> dict[int, int]:
    """Steps to the core along the arrows; boxes that do not reach it are the farthest."""
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
