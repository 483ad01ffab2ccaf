"""Pure. A desync while everything moves: ranks are compared at equal positions, not at equal times.

The k-th visit of a place of the program has the same number of collectives before it on every rank of a group. A rank
that skips a batch has one fewer from then on, at every later visit, and nothing else tells: operations and sizes agree
at every number until the end of the epoch. So this is a warning, never a proof.

Only places that all ranks of the group visit are compared, by threads that use the group, each within the same loop
over a loader; a loader that ends after different numbers of batches is left out with all that is done in it.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from ddpdoctor.observe.stream import CALL, FORWARD, NEXT, NOWHERE, STOP, Moment, Names

#: visits for which a shift must stay the same, and how often it may have changed before
STEADY, MOST_CHANGES = 5, 3
#: what a shift is believed at; not at forwards without synchronisation, of which ranks may need another number
_TELLING = frozenset({NEXT, FORWARD, CALL})
#: visits of a place by one rank that wait for the others'
MOST_OPEN = 4096
#: moments of each rank that are kept, for the parting
MOST_KEPT = 2048
#: groups of a thread that are followed: a job may make one for every epoch, and each costs time with every moment
MOST_GROUPS = 8

#: place, and the loader in whose loop it is visited (NOWHERE outside of any)
Spot = tuple[int, int]


class Visit(NamedTuple):
    """One rank at one visit of a spot."""

    #: the how-many-eth it is
    number: int
    #: collectives of the group before it
    position: int
    #: how often the loader has ended before, and the how-many-eth of its batches it is in
    ends: int
    batch: int
    time: float


class Kept(NamedTuple):
    """A moment in the memory of a rank, and the how-many-eth visit of its spot it is."""

    time: float
    code: int
    place: int
    spot: Spot
    visit: int


@dataclass(frozen=True, slots=True)
class Shift:
    """A shift that has stayed."""

    group: int
    spot: Spot
    #: rank -> collectives more (or fewer) than the majority's; without a majority, than the first rank's
    by: tuple[tuple[int, int], ...]
    majority: bool
    #: the first visit with it, and when the last rank made that
    visit: int
    since: float


@dataclass(slots=True)
class _Watch:
    """One spot for one group."""

    waiting: dict[int, deque[Visit]] = field(default_factory=lambda: defaultdict(deque))
    by: tuple[tuple[int, int], ...] = ()
    steady: int = 0
    changes: int = 0
    visit: int = 0
    since: float = 0.0
    majority: bool = True
    dropped: bool = False


class Shifts:
    """Takes in the moments of all ranks as they come."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._counts: dict[tuple[int, int], int] = defaultdict(int)
        self._uses: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._loader: dict[tuple[int, int], int] = {}
        self._ends: dict[tuple[int, int], int] = defaultdict(int)
        self._watches: dict[tuple[int, Spot], _Watch] = defaultdict(_Watch)
        self._visits: dict[tuple[int, Spot], int] = defaultdict(int)
        self._kept: dict[tuple[int, int], deque[Kept]] = defaultdict(lambda: deque(maxlen=MOST_KEPT))
        #: loaders that are left out
        self._uneven: set[int] = set()
        #: groups that are not followed any more, on any rank: one that was counted anew on some would seem shifted
        self._retired: set[int] = set()
        self._found: list[Shift] = []
        self._blind = False

    def forget(self) -> None:
        """Moments were lost, so visits cannot be counted any more: nothing is said from now on."""
        self._blind = True

    def add(self, rank: int, moments: Iterable[Moment]) -> None:
        """Take in what a rank did next, in order."""
        if self._blind:
            return
        for moment in moments:
            self._add(rank, moment)

    def found(self) -> tuple[Shift, ...]:
        """Shifts that have stayed since the last call: those that a loop's beginning shows first, then the earliest."""
        found, self._found = self._found, []
        return tuple(sorted(found, key=lambda shift: (self._names.sites[shift.spot[0]][0] != NEXT, shift.since)))

    def memory(self, rank: int, group: int) -> tuple[Kept, ...]:
        """The newest moments of the rank's threads that use the group."""
        threads = [thread for (own, thread), groups in self._uses.items() if own == rank and group in groups]
        return tuple(kept for thread in threads for kept in self._kept[rank, thread])

    def _add(self, rank: int, moment: Moment) -> None:
        thread = (rank, moment.thread)
        if moment.code == NEXT:
            self._loader[thread] = moment.place
        loader = self._loader.get(thread, NOWHERE)
        spot = (moment.place, loader)
        self._visits[rank, spot] += 1
        self._kept[thread].append(Kept(moment.time, moment.code, moment.place, spot, self._visits[rank, spot]))
        if moment.code == STOP:
            self._ends[rank, loader] += 1
            self._loader.pop(thread, None)
        else:
            for group in self._uses.get(thread, ()):
                position = self._counts[rank, group]
                number = self._visits[rank, spot]
                batch = self._visits[rank, (loader, loader)]
                self._visit(rank, group, spot, Visit(number, position, self._ends[rank, loader], batch, moment.time))
        if moment.group != NOWHERE:
            self._use(rank, thread, moment.group)

    def _use(self, rank: int, thread: tuple[int, int], group: int) -> None:
        """Count a collective; of the groups of a thread, those that it used last are followed."""
        if group in self._retired:
            return
        self._counts[rank, group] += 1
        used = self._uses[thread]
        if not used or used[-1] != group:
            if group in used:
                used.remove(group)
            used.append(group)
        if len(used) > MOST_GROUPS:
            self._retire(used[0])

    def _retire(self, group: int) -> None:
        self._retired.add(group)
        for used in self._uses.values():
            if group in used:
                used.remove(group)
        for key in [key for key in self._watches if key[0] == group]:
            del self._watches[key]
        for member in self._names.known[group].members:
            self._counts.pop((int(member), group), None)

    def _visit(self, rank: int, group: int, spot: Spot, visit: Visit) -> None:
        watch = self._watches[group, spot]
        if watch.dropped or spot[1] in self._uneven:
            return
        watch.waiting[rank].append(visit)
        members = self._names.known[group].members
        while all(watch.waiting[member] for member in members):
            # a rank is compared from its first meeting on, which others may have had a visit earlier or later
            first = max(watch.waiting[member][0].number for member in members)
            late = [member for member in members if watch.waiting[member][0].number < first]
            for member in late:
                watch.waiting[member].popleft()
            if not late:
                self._compare(group, spot, watch, {int(member): watch.waiting[member].popleft() for member in members})
        if len(watch.waiting[rank]) > MOST_OPEN:
            watch.dropped = True
            watch.waiting.clear()

    def _compare(self, group: int, spot: Spot, watch: _Watch, visits: dict[int, Visit]) -> None:
        if len({visit.ends for visit in visits.values()}) > 1:
            self._uneven.add(spot[1])
            return
        if len({visit.batch for visit in visits.values()}) > 1:
            # ranks need not come here equally often for each batch: then the batches tell, and not this place
            watch.steady = 0
            return
        usual, majority = _usual([visit.position for visit in visits.values()])
        by = tuple((rank, visit.position - usual) for rank, visit in visits.items() if visit.position != usual)
        if by != watch.by:
            watch.by, watch.steady, watch.changes = by, 0, watch.changes + 1
            watch.since, watch.majority = max(v.time for v in visits.values()), majority
            watch.visit = next(iter(visits.values())).number
        watch.steady += 1
        telling = self._names.sites[spot[0]][0] in _TELLING
        if by and telling and watch.steady == STEADY and watch.changes <= MOST_CHANGES and watch.visit > 1:
            self._found.append(Shift(group, spot, by, majority, watch.visit, watch.since))


def _usual(positions: list[int]) -> tuple[int, bool]:
    """What most ranks have, and whether more than half do; else the first rank's."""
    value, number = Counter(positions).most_common(1)[0]
    return (value, True) if 2 * number > len(positions) else (positions[0], False)


def parting(mine: tuple[Kept, ...], theirs: tuple[Kept, ...], shift: Shift) -> tuple[Kept | None, Kept | None] | None:
    """The first moments in which two ranks differ on their way to the first visit with the shift; None for one of them
    if the other did something more. None if their memories do not reach so far."""
    ours, other = (_way(memory, shift) for memory in (mine, theirs))
    if ours is None or other is None:
        return None
    for one, two in zip(ours, other, strict=False):
        if one.place != two.place:
            return one, two
    if len(ours) == len(other):
        return None
    longer = ours if len(ours) > len(other) else other
    extra = longer[min(len(ours), len(other))]
    return (extra, None) if longer is ours else (None, extra)


def _way(memory: tuple[Kept, ...], shift: Shift) -> tuple[Kept, ...] | None:
    """What a rank did from the last visit without the shift to the one after the first with it."""
    at = {kept.visit: i for i, kept in enumerate(memory) if kept.spot == shift.spot}
    start, end = at.get(shift.visit - 1), at.get(shift.visit)
    return None if start is None or end is None else memory[start : end + 1]
