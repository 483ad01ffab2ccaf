"""Pure. Who is waited for within backwards: their events are those of their beginnings, but torch's recorder has the
time at which each rank issued each reduction of gradients.

The first collective of a group after the beginning of a backward is its first reduction. A rank that takes longer until
then than the others do is late by the difference, however early or late it began.
"""

from __future__ import annotations

import bisect
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.waited import Straggler
from ddpdoctor.observe.lateness import SHORTEST, is_told, line_of
from ddpdoctor.observe.stream import Moment, Names

#: backwards of each rank that are kept, to be joined with the recorder's last 2,000 collectives
MOST_BACKWARDS = 2048


class Backward(NamedTuple):
    """The beginning of one that reduces gradients; `number` counts those of its rank and group."""

    time: float
    number: int
    place: int


@dataclass(slots=True)
class _Late:
    """How often a rank was the last to reduce, and by how many seconds together."""

    times: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class _Seen:
    """What the recorders have shown of one group."""

    met: int = 0
    #: by all ranks, for whatever reason
    waited: float = 0.0
    #: over which backwards were seen
    seconds: float = 0.0
    #: the last backward that was counted
    newest: int = -1
    ranks: int = 0
    #: by rank and place
    late: dict[tuple[int, int], _Late] = field(default_factory=lambda: defaultdict(_Late))


class Reductions:
    """Takes in the beginnings of backwards as they come, and what recorders hold now and then."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._begun: dict[int, dict[int, deque[Backward]]] = defaultdict(
            lambda: defaultdict(lambda: deque(maxlen=MOST_BACKWARDS))
        )
        self._seen: dict[int, _Seen] = defaultdict(_Seen)

    @property
    def groups(self) -> tuple[int, ...]:
        """The groups whose gradients are reduced."""
        return tuple(self._begun)

    def begin(self, rank: int, moment: Moment) -> None:
        """A backward of the rank begins."""
        begun = self._begun[moment.group][rank]
        begun.append(Backward(moment.time, begun[-1].number + 1 if begun else 0, moment.place))

    def forget(self) -> None:
        """Moments were lost, so backwards cannot be numbered any more: the sums stay as they are."""
        self._begun.clear()

    def take(self, group: int, issued: Mapping[int, Sequence[float]]) -> None:
        """Take in when each rank issued the collectives of a group, the same ones in order.

        `issued`: rank -> CLOCK_MONOTONIC seconds. Nothing is taken unless all members are there.
        """
        members = [int(member) for member in self._names.known[group].members]
        begun = {rank: list(kept) for rank, kept in self._begun.get(group, {}).items()}
        if not all(member in issued and begun.get(member) for member in members):
            return
        seen, times = self._seen[group], []
        for number, came, of in _first_reductions(members, issued, begun):
            if number > seen.newest:
                seen.newest, seen.ranks = number, len(members)
                times.append(max(came))
                _count(seen, members, came, of)
        seen.seconds += times[-1] - times[0] if times else 0.0

    def share(self) -> float:
        """The greatest share of the time of all ranks of a group in which they waited for each other's reductions."""
        return max(
            (one.waited / (one.seconds * one.ranks) for one in self._seen.values() if one.seconds > 0.0), default=0.0
        )

    def stragglers(self) -> Iterator[Straggler]:
        """The ranks that stand out."""
        size = max((int(member) for one in self._names.known for member in one.members), default=0) + 1
        for group, seen in self._seen.items():
            for (rank, place), late in seen.late.items():
                if is_told(late.times, late.seconds, seen.met, seen.seconds):
                    site = self._names.sites[place][1]
                    where = line_of(rank, site)
                    label, each = self._names.known[group].label(size), late.seconds / late.times
                    yield Straggler(Rank(rank), label, "backward", late.times, seen.met, each, "inside backward", where)


def _first_reductions(
    members: Sequence[int], issued: Mapping[int, Sequence[float]], begun: Mapping[int, Sequence[Backward]]
) -> Iterator[tuple[int, tuple[float, ...], list[Backward]]]:
    """Number, times and beginnings of each backward of which all ranks are seen. Of the oldest the first reduction may
    have been overwritten, so it is left out; what follows the first is another bucket."""
    before: int | None = None
    for came in zip(*(issued[member] for member in members), strict=True):
        found = [_newest(begun[member], time) for member, time in zip(members, came, strict=True)]
        of = [one for one in found if one is not None]
        number = of[0].number if of else -1
        another, before = before is not None and number != before, number
        if another and len(of) == len(found) and {one.number for one in of} == {number}:
            yield number, came, of


def _count(seen: _Seen, members: Sequence[int], came: Sequence[float], of: Sequence[Backward]) -> None:
    seen.met += 1
    seen.waited += sum(max(came) - time for time in came)
    took = sorted((time - one.time, place) for place, (time, one) in enumerate(zip(came, of, strict=True)))
    lead, last = took[-1][0] - took[-2][0], took[-1][1]
    if lead >= SHORTEST:
        late = seen.late[members[last], of[last].place]
        late.times += 1
        late.seconds += lead


def _newest(begun: Sequence[Backward], time: float) -> Backward | None:
    """The backward that had begun last by then."""
    place = bisect.bisect_right(begun, time, key=lambda one: one.time)
    return begun[place - 1] if place else None
