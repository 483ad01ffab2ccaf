"""The job's histories divided into sides: sets of ranks whose histories agree with one another."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ddpdoctor.diagnose.digest.histories import History, HistoryDiff, HistoryStep, history_diffs
from ddpdoctor.model.ranks import Rank, RankSet

#: Most classes of ranks compared with each other; with more kinds of behaviour no majority is meaningful.
MOST_CLASSES = 12
#: most ranks of a side of which the one to compare is chosen
MOST_RANKS = 64


@dataclass(frozen=True, slots=True)
class Comparison:
    """One difference between two histories, seen from the odd side."""

    odd: RankSet
    reference: RankSet
    #: left is the odd ranks' side
    diff: HistoryDiff
    #: the two ranks whose histories were compared, the odd one first
    pair: tuple[Rank, Rank]

    @property
    def before(self) -> HistoryStep | None:
        return self.diff.before

    @property
    def odd_next(self) -> HistoryStep | None:
        """The odd ranks' next step; None if their history ends."""
        return self.diff.left_next

    @property
    def reference_next(self) -> HistoryStep | None:
        return self.diff.right_next

    def mirrored(self) -> Comparison:
        """The same difference seen from the other side."""
        return Comparison(self.reference, self.odd, self.diff.mirrored(), self.pair[::-1])


@dataclass(frozen=True, slots=True)
class HistorySplit:
    """One side of the job that diverged from another; `left` of the diffs is the odd side, `right` the reference."""

    odd: RankSet
    reference: RankSet
    #: oldest first
    diffs: tuple[HistoryDiff, ...]
    #: whose histories differ in this way, the odd one first
    pair: tuple[Rank, Rank]
    #: the odd side is a real minority
    minority: bool

    @property
    def cause(self) -> HistoryDiff:
        """The difference to explain. Recurring differences are the program's habit; the one that does not recur is the
        cause.
        """
        shapes = [(p.left_next, p.right_next) for p in self.diffs]
        single = [p for p, pattern in zip(self.diffs, shapes, strict=True) if shapes.count(pattern) == 1]
        return (single or list(self.diffs))[0]

    @property
    def unique(self) -> bool:
        return len(self.diffs) == 1

    def compared(self) -> Comparison:
        """The difference to explain, seen from the odd side."""
        return Comparison(self.odd, self.reference, self.cause.past_refills(), self.pair)


def divide(histories: Mapping[Rank, History]) -> tuple[HistorySplit, ...]:
    """Compare the ranks' histories: one split for every side but the largest; empty if all agree."""
    classes = _classes(list(histories.values()))
    if not 1 < len(classes) <= MOST_CLASSES:
        return ()
    sides = [[history for members in side for history in members] for side in _sides(sorted(classes, key=_furthest))]
    reference, *others = sorted(sides, key=lambda side: (-len(side), _furthest(side)))
    return tuple(_split(side, reference) for side in others)


def _furthest(members: list[History]) -> tuple[int, list[str]]:
    """An order of classes by what their ranks did and not by the ranks' numbers, those that got furthest first: short
    histories may agree with several that part later.
    """
    steps = members[0].steps
    return -len(steps), [f"{step.kind.value} {step.op} {step.site}" for step in steps]


def _sides(classes: list[list[History]]) -> list[list[list[History]]]:
    """Classes of equal histories put together where one may have got further on the other's way."""
    parted = {
        frozenset((left, right))
        for left, right in itertools.combinations(range(len(classes)), 2)
        if _really_part(classes[left][0], classes[right][0])
    }
    first = _most_that_part(len(classes), parted)
    sides: list[list[list[History]]] = [[] for _ in first]
    for own, members in enumerate(classes):
        homes = [n for n, other in enumerate(first) if own == other or frozenset((own, other)) not in parted]
        if len(homes) == 1:  # a history that fits several sides says nothing
            sides[homes[0]].append(members)
    return sides


def _most_that_part(count: int, parted: set[frozenset[int]]) -> tuple[int, ...]:
    """As many classes as possible of which each parts from each other, the first of them in order: a history that
    agrees with two that part must not hide that they do.
    """
    found: list[tuple[int, ...]] = [()]
    for one in range(count):
        found += [(*some, one) for some in found if all(frozenset((one, other)) in parted for other in some)]
    return max(found, key=lambda some: (len(some), [-one for one in some]))


def _split(side: list[History], largest: list[History]) -> HistorySplit:
    mine, theirs = _nearest(side, largest)
    found = history_diffs(mine, theirs)
    odd, reference = RankSet.of(h.rank for h in side), RankSet.of(h.rank for h in largest)
    return HistorySplit(odd, reference, found, (mine.rank, theirs.rank), minority=len(odd) < len(reference))


def _nearest(side: list[History], largest: list[History]) -> tuple[History, History]:
    """One of each side, with the most groups in common: ranks of other groups have other steps for that alone."""
    mine, theirs = _by_groups(side), _by_groups(largest)
    left, right = max(itertools.product(mine, theirs), key=lambda pair: len(pair[0] & pair[1]))
    return mine[left], theirs[right]


def _by_groups(side: list[History]) -> dict[frozenset[object], History]:
    """The first of the ranks that communicate in the same groups; of a few only, where nearly all have their own."""
    found: dict[frozenset[object], History] = {}
    for history in side[:MOST_RANKS]:
        found.setdefault(frozenset(step.group for step in history.steps if step.group is not None), history)
    return found


def _really_part(left: History, right: History) -> bool:
    """Whether they differ in both directions of comparison: if either direction lets them agree, they do."""
    return bool(history_diffs(left, right)) and bool(history_diffs(right, left))


def _classes(histories: Sequence[History]) -> list[list[History]]:
    """Ranks with identical steps; groups with other members have other names, so they make other classes."""
    found: dict[tuple[object, ...], list[History]] = {}
    for history in histories:
        found.setdefault((history.steps, history.truncated), []).append(history)
    return list(found.values())
