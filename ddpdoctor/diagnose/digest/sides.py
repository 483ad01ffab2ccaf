"""The job's histories divided into sides: sets of ranks whose histories agree with one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ddpdoctor.diagnose.digest.histories import History, HistoryDiff, HistoryStep, history_diffs
from ddpdoctor.model.ranks import Rank, RankSet

#: Most classes of ranks compared with each other; with more kinds of behaviour no majority is meaningful.
MOST_CLASSES = 12


@dataclass(frozen=True, slots=True)
class Comparison:
    """One difference between two histories, seen from the odd side."""

    odd: RankSet
    reference: RankSet
    #: left is the odd ranks' side
    diff: HistoryDiff

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
        return Comparison(self.reference, self.odd, self.diff.mirrored())


@dataclass(frozen=True, slots=True)
class HistorySplit:
    """One side of the job that diverged from another; `left` of the diffs is the odd side, `right` the reference."""

    odd: RankSet
    reference: RankSet
    #: oldest first
    diffs: tuple[HistoryDiff, ...]
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
        return Comparison(self.odd, self.reference, self.cause.past_refills())


def divide(histories: Mapping[Rank, History]) -> tuple[HistorySplit, ...]:
    """Compare the ranks' histories: one split for every side but the largest; empty if all agree."""
    classes = _classes(list(histories.values()))
    if not 1 < len(classes) <= MOST_CLASSES:
        return ()
    sides = [[history for members in side for history in members] for side in _sides(classes)]
    reference, *others = sorted(sides, key=lambda side: (-len(side), min(history.rank for history in side)))
    return tuple(_split(side, reference) for side in others)


def _sides(classes: list[list[History]]) -> list[list[list[History]]]:
    """Classes of equal histories put together where one may have got further on the other's way."""
    first: list[list[History]] = []
    for members in sorted(classes, key=lambda c: not c[0].steps):
        if all(_really_part(side[0], members[0]) for side in first):
            first.append(members)
    sides: list[list[list[History]]] = [[] for _ in first]
    for members in classes:
        homes = [n for n, side in enumerate(first) if side is members or not _really_part(side[0], members[0])]
        if len(homes) == 1:  # a history that fits several sides says nothing
            sides[homes[0]].append(members)
    return sides


def _split(side: list[History], largest: list[History]) -> HistorySplit:
    found = history_diffs(side[0], largest[0])
    odd, reference = RankSet.of(h.rank for h in side), RankSet.of(h.rank for h in largest)
    return HistorySplit(odd, reference, found, minority=len(odd) < len(reference))


def _really_part(left: History, right: History) -> bool:
    """Whether they differ in both directions of comparison: if either direction lets them agree, they do."""
    return bool(history_diffs(left, right)) and bool(history_diffs(right, left))


def _classes(histories: Sequence[History]) -> list[list[History]]:
    """Ranks with identical steps; groups with other members have other names, so they make other classes."""
    found: dict[tuple[object, ...], list[History]] = {}
    for history in histories:
        found.setdefault((history.steps, history.truncated), []).append(history)
    return sorted(found.values(), key=lambda c: (-len(c), c[0].rank))
