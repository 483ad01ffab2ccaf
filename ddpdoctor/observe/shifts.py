"""Pure. A desync while everything moves: ranks are compared at equal positions, not at equal times.

The k-th visit of a place of the program has the same number of collectives before it on every rank of a group. A rank
that skips a batch has one fewer from then on, at every later visit, and nothing else tells: operations and sizes agree
at every number until the end of the epoch. So this is a warning, never a proof.

The other way round, at the k-th collective of a group all ranks are in the same batch: a rank that accumulated over one
batch more is one ahead from then on, while the number of collectives at its batches goes up and down.

Only places that all ranks of the group visit are compared, by threads that use the group, each within the same loop
over a loader; a loader that ends after different numbers of batches is left out with all that is done in it.

Where one line is reached by several routes (a helper that makes all collectives of a job), the routes are compared too.
A rank may come to the same by another route or line for once: a shift of a route, or of a line outside of any loader
beside which the rank took another one, is believed only if what the ranks do from then on fits by the shift, and does
not without it.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from ddpdoctor.model.stacks import Site
from ddpdoctor.observe.in_step import InStep
from ddpdoctor.observe.stream import BACKWARD, CALL, FORWARD, NEXT, NOWHERE, STEP, STOP, Moment, Names

#: visits for which a shift must stay the same, and how often it may have changed before
STEADY, MOST_CHANGES = 5, 3
#: at how many of these visits there must have been further collectives: a rank that trains for itself between two of
#: them, for fewer rounds than the others, is ahead for the visits in which those still train
MOVING = 3
#: what a shift is believed at; not at forwards without synchronisation, of which ranks may need another number
_TELLING = frozenset({NEXT, FORWARD, STEP, CALL})
#: and at a route to
_ROUTED = frozenset({BACKWARD})
#: collectives since the first batch after which ranks are said to meet in a loop
MEETS = 2
#: visits of a place by one rank that wait for the others'
MOST_OPEN = 4096
#: moments of each rank that are kept, for the parting
MOST_KEPT = 2048
#: groups of a thread that are followed: a job may make one for every epoch, and each costs time with every moment
MOST_GROUPS = 8

#: collectives of each rank and group of which the routes are kept
MOST_ROUTES = 512
#: share of the collectives since a shift that fit by it
FITTING = 0.9
#: ends of each loader that are kept
MOST_ENDS = 8

#: place, and the loader in whose loop it is visited (NOWHERE outside of any)
Spot = tuple[int, int]


class Counted(Enum):
    """What differs between ranks."""

    #: collectives of the group before the same visit of the same place
    COLLECTIVES = "collectives"
    #: batches of the same loader at the same collective of the group
    BATCHES = "batches"
    #: turns of the same loop at the same collective of the group
    TURNS = "turns"


class Visit(NamedTuple):
    """One rank at one visit of a spot, or at one collective."""

    #: the how-many-eth it is
    number: int
    #: what is counted
    total: int
    #: how often the loader has ended before, and the how-many-eth of its batches it is in
    ends: int
    batch: int
    time: float


class End(NamedTuple):
    """A loader came to its end on a rank."""

    #: the how-many-eth time, and the batches that the rank had of it by then
    number: int
    batches: int
    time: float


class Loop(NamedTuple):
    """A loop over a loader in which the ranks of a group meet."""

    site: Site
    group: int
    loader: int
    #: when the last of them had the first batch that was compared
    began: float


@dataclass(frozen=True, slots=True)
class Shift:
    """A shift that has stayed."""

    group: int
    counted: Counted
    #: of collectives the one that is compared; of batches the loader's own
    spot: Spot
    #: rank -> how many more (or fewer) than the majority; without a majority, than the first rank
    by: tuple[tuple[int, int], ...]
    majority: bool
    #: the first visit (or collective) with it, and when the last rank came to that
    visit: int
    since: float
    #: rank -> when it came to the last visit without it, and to the first one with it; empty if it never was without it
    ways: tuple[tuple[int, float, float], ...] = ()


@dataclass(slots=True)
class _Watch:
    """One spot for one group."""

    group: int
    counted: Counted
    spot: Spot
    visits: InStep[Visit]
    #: what was compared last
    last: dict[int, Visit] = field(default_factory=dict)
    #: what was compared first
    first: dict[int, Visit] = field(default_factory=dict)
    by: tuple[tuple[int, int], ...] = ()
    steady: int = 0
    #: of the steady visits, those before which each rank made further collectives
    moving: int = 0
    told: bool = False
    changes: int = 0
    visit: int = 0
    #: what most had at the first visit with the shift
    usual: int = 0
    since: float = 0.0
    ways: tuple[tuple[int, float, float], ...] = ()
    majority: bool = True
    dropped: bool = False

    def in_same_batches(self, visits: dict[int, Visit]) -> bool:
        """Whether no rank took a batch since the last collective: that is no further sign."""
        return all(rank in self.last and self.last[rank].total == visit.total for rank, visit in visits.items())

    def take(self, visits: dict[int, Visit]) -> None:
        """Compare the ranks where all have come to."""
        self.first = self.first or visits
        totals = {visit.total for visit in visits.values()}
        if len(totals) == 1 and not self.by:  # as most are: without a shift nothing is counted
            self.last = visits
            return
        usual, majority = _usual([visit.total for visit in visits.values()])
        by = tuple((rank, visit.total - usual) for rank, visit in visits.items() if visit.total != usual)
        if by != self.by:
            self.by, self.steady, self.moving, self.told, self.changes = by, 0, 0, False, self.changes + 1
            self.since, self.majority = max(visit.time for visit in visits.values()), majority
            self.visit, self.usual = next(iter(visits.values())).number, usual
            self.ways = tuple(
                (rank, self.last[rank].time, visit.time) for rank, visit in visits.items() if rank in self.last
            )
        last, self.last = self.last, visits
        self.moving += all(rank in last and last[rank].total < visit.total for rank, visit in visits.items())
        self.steady += 1

    @property
    def has_stayed(self) -> bool:
        """Whether there is a shift that has stayed long enough, and did not change all the time before."""
        long = self.steady >= STEADY and self.moving >= MOVING
        return bool(self.by) and long and self.changes <= MOST_CHANGES and self.visit > 1


@dataclass(slots=True)
class _Thread:
    """What a thread of a rank has done."""

    #: in whose loop it is
    loader: int = NOWHERE
    #: the groups that it used last and that are followed, the newest last
    groups: list[int] = field(default_factory=list)
    kept: deque[Moment] = field(default_factory=lambda: deque(maxlen=MOST_KEPT))


@dataclass(slots=True)
class _Rank:
    """What a rank has done."""

    rank: int
    threads: dict[int, _Thread] = field(default_factory=lambda: defaultdict(_Thread))
    #: group -> collectives
    counts: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    #: group -> routes of its newest collectives, their places where routes are not known
    routes: dict[int, deque[int]] = field(default_factory=lambda: defaultdict(lambda: deque(maxlen=MOST_ROUTES)))
    visits: dict[Spot, int] = field(default_factory=dict)
    #: loader -> how often it ended, and the newest of these ends
    ended: dict[int, int] = field(default_factory=dict)
    ends: dict[int, deque[End]] = field(default_factory=lambda: defaultdict(lambda: deque(maxlen=MOST_ENDS)))

    def visit(self, spot: Spot) -> int:
        """Count a visit: the how-many-eth it is."""
        number = self.visits[spot] = self.visits.get(spot, 0) + 1
        return number

    def batches(self, loader: int) -> int:
        """How many of the loader it took."""
        return self.visits.get((loader, loader), 0)


class Shifts:
    """Takes in the moments of all ranks as they come."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._ranks: dict[int, _Rank] = {}
        #: group -> of collectives by spot, of batches by loader
        self._places: dict[int, dict[Spot, _Watch]] = defaultdict(dict)
        self._batches: dict[int, dict[int, _Watch]] = defaultdict(dict)
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
        own = self._rank(rank)
        for moment in moments:
            self._add(own, moment)

    def _rank(self, rank: int) -> _Rank:
        own = self._ranks.get(rank)
        if own is None:
            own = self._ranks[rank] = _Rank(rank)
        return own

    def found(self) -> tuple[Shift, ...]:
        """Shifts that have stayed since the last call: those that a loop's beginning shows first, in collectives rather
        than in batches, then the earliest."""
        found, self._found = self._found, []
        return tuple(sorted(found, key=self._order))

    def _order(self, shift: Shift) -> tuple[bool, bool, float]:
        at_loop = self._names.sites[shift.spot[0]][0] == NEXT
        return not at_loop, shift.counted is not Counted.COLLECTIVES, shift.since

    def loops(self) -> list[Loop]:
        """Loops over loaders in which the ranks of a group meet."""
        found = []
        for group, watches in self._places.items():
            for (place, loader), watch in watches.items():
                site = self._names.sites[place][1]
                if place != loader or site is None:
                    continue
                if watch.last and all(watch.last[rank].total >= one.total + MEETS for rank, one in watch.first.items()):
                    found.append(Loop(site, group, loader, max(one.time for one in watch.first.values())))
        return found

    def ends(self, rank: int, loader: int) -> tuple[End, ...]:
        """The newest ends of a loader on a rank, oldest first."""
        return tuple(self._rank(rank).ends.get(loader, ()))

    def collectives(self, rank: int, group: int) -> int:
        """How many of the group a rank has made."""
        return self._rank(rank).counts.get(group, 0)

    def way(self, rank: int, shift: Shift) -> tuple[Moment, ...]:
        """What the rank's threads that use the group did from the last visit without the shift to the first one with
        it; empty if its memory does not reach so far."""
        begin, end = next(((begin, end) for own, begin, end in shift.ways if own == rank), (0.0, 0.0))
        threads = [thread for thread in self._rank(rank).threads.values() if shift.group in thread.groups]
        kept = [moment for thread in threads for moment in thread.kept]
        return tuple(one for one in kept if begin <= one.time <= end) if any(k.time <= begin for k in kept) else ()

    def _add(self, own: _Rank, moment: Moment) -> None:
        time, code, number, place, group, _, _, route = moment
        thread = own.threads[number]
        if code == NEXT:
            thread.loader = place
        loader = thread.loader
        thread.kept.append(moment)
        visit = own.visit((place, loader))
        if code == STOP:
            own.ended[loader] = own.ended.get(loader, 0) + 1
            own.ends[loader].append(End(own.ended[loader], own.batches(loader), time))
            thread.loader = NOWHERE
        else:
            self._pass(own, thread, (place, loader), visit, time)
            if route != NOWHERE:
                visit = own.visit((route, loader))
                if len(self._names.routes_to[place]) > 1:
                    self._pass(own, thread, (route, loader), visit, time)
        if group != NOWHERE and group not in self._retired:
            self._use(own, thread, group, place if route == NOWHERE else route)
            if loader != NOWHERE and group not in self._retired:
                self._meet(own, group, loader, time)

    def _pass(self, own: _Rank, thread: _Thread, spot: Spot, number: int, time: float) -> None:
        """Compare a visit in each group that the thread uses."""
        if not thread.groups:
            return
        loader = spot[1]
        ends, batches = own.ended.get(loader, 0), own.batches(loader)
        for group in thread.groups:
            watch = self._places[group].get(spot)
            if watch is None:
                watch = self._places[group][spot] = self._watch(group, Counted.COLLECTIVES, spot)
            self._visit(own.rank, watch, Visit(number, own.counts[group], ends, batches, time))

    def _meet(self, own: _Rank, group: int, loader: int, time: float) -> None:
        watch = self._batches[group].get(loader)
        if watch is None:
            watch = self._batches[group][loader] = self._watch(group, Counted.BATCHES, (loader, loader))
        visit = Visit(own.counts[group], own.batches(loader), own.ended.get(loader, 0), 0, time)
        self._visit(own.rank, watch, visit)

    def _watch(self, group: int, counted: Counted, spot: Spot) -> _Watch:
        return _Watch(group, counted, spot, InStep(self._names.known[group].members))

    def _use(self, own: _Rank, thread: _Thread, group: int, route: int) -> None:
        """Count a collective; of the groups of a thread, those that it used last are followed."""
        own.counts[group] += 1
        own.routes[group].append(route)
        used = thread.groups
        if not used or used[-1] != group:
            if group in used:
                used.remove(group)
            used.append(group)
            if len(used) > MOST_GROUPS:
                self._retire(used[0])

    def _retire(self, group: int) -> None:
        self._retired.add(group)
        self._places.pop(group, None)
        self._batches.pop(group, None)
        for own in self._ranks.values():
            own.counts.pop(group, None)
            own.routes.pop(group, None)
            for thread in own.threads.values():
                if group in thread.groups:
                    thread.groups.remove(group)

    def _visit(self, rank: int, watch: _Watch, visit: Visit) -> None:
        if watch.dropped or watch.spot[1] in self._uneven:
            return
        if watch.visits.add(rank, visit) > MOST_OPEN:
            watch.dropped = True
            watch.visits.clear()
        elif watch.visits.is_complete:
            self._pair(watch)

    def _pair(self, watch: _Watch) -> None:
        """Compare as long as every member has a visit that waits."""
        visits = watch.visits
        while visits.is_complete:
            # a rank is compared from its first meeting on, which others may have had a visit earlier or later
            first = max(waiting[0].number for waiting in visits.waiting.values())
            late = [member for member, waiting in visits.waiting.items() if waiting[0].number < first]
            for member in late:
                visits.drop(member)
            if not late:
                self._compare(watch, visits.take())

    def _compare(self, watch: _Watch, came: list[Visit]) -> None:
        """Compare the visits of all members, in their order."""
        if len({visit.ends for visit in came}) > 1:
            self._uneven.add(watch.spot[1])
            return
        if len({visit.batch for visit in came}) > 1:
            # ranks need not come here equally often for each batch: then the batches tell, and not this place
            watch.steady = watch.moving = 0
            return
        visits = dict(zip(watch.visits.waiting, came, strict=True))
        if watch.counted is Counted.COLLECTIVES or not watch.in_same_batches(visits):
            watch.take(visits)
            self._believe(watch)

    def _believe(self, watch: _Watch) -> None:
        """Note a shift that has stayed, if it is one."""
        # asked again now and then: the collectives may not have been enough to tell
        if not watch.has_stayed or watch.told or watch.steady % STEADY:
            return
        if watch.counted is Counted.COLLECTIVES and self._names.sites[watch.spot[0]][0] not in _TELLING | _ROUTED:
            return
        shift = Shift(
            *(watch.group, watch.counted, watch.spot, watch.by),
            *(watch.majority, watch.visit, watch.since, watch.ways),
        )
        if not self._may_be_another_way(shift) or self._fits(watch.group, watch):
            watch.told = True
            self._found.append(shift)

    def _may_be_another_way(self, shift: Shift) -> bool:
        """Whether a rank may only have come to the same by another route or line for once."""
        place, loader = shift.spot
        if place in self._names.paths or self._names.sites[place][0] not in _TELLING:
            return True
        if loader != NOWHERE:
            return False
        shifted = {rank for rank, _ in shift.by}
        rest = next((rank for rank, *_ in shift.ways if rank not in shifted), None)
        if rest is None:
            return False
        partings = [parting(self.way(rank, shift), self.way(rest, shift)) for rank in shifted]
        sides = [apart for apart in partings if apart is not None]
        return any(mine is not None and theirs is not None and mine.code == theirs.code for mine, theirs in sides)

    def _fits(self, group: int, watch: _Watch) -> bool:
        """Whether what the ranks have done since the shift is the same by it, and is not without it."""
        shifted = dict(watch.by)
        reference = next((rank for rank in watch.last if rank not in shifted), None)
        if reference is None:
            return False
        theirs = self._numbered(reference, group)
        for rank, shift in watch.by:
            mine = self._numbered(rank, group)
            since = [number for number in theirs if number >= watch.usual and {number, number + shift} <= mine.keys()]
            apart = sum(theirs[number] != mine[number] for number in since)
            fitting = sum(theirs[number] == mine[number + shift] for number in since)
            if apart < STEADY or fitting < FITTING * len(since):
                return False
        return True

    def _numbered(self, rank: int, group: int) -> dict[int, int]:
        """The routes of a rank's newest collectives, by number."""
        own = self._rank(rank)
        routes = own.routes[group]
        return dict(enumerate(routes, own.counts[group] - len(routes)))


def _usual(positions: list[int]) -> tuple[int, bool]:
    """What most ranks have, and whether more than half do; else the first rank's."""
    if positions.count(positions[0]) == len(positions):
        return positions[0], True
    value, number = Counter(positions).most_common(1)[0]
    return (value, True) if 2 * number > len(positions) else (positions[0], False)


def parting(
    mine: tuple[Moment, ...], theirs: tuple[Moment, ...], *, by_route: bool = False
) -> tuple[Moment | None, Moment | None] | None:
    """The first moments in which two ways differ (see `Shifts.way`), in their places or in the routes to them; None for
    one of them if the other did something more. None if they are equal, or one is not known."""
    if not mine or not theirs:
        return None
    for one, two in zip(mine, theirs, strict=False):
        if one.place != two.place or (by_route and one.route != two.route):
            return one, two
    if len(mine) == len(theirs):
        return None
    longer = mine if len(mine) > len(theirs) else theirs
    extra = longer[min(len(mine), len(theirs))]
    return (extra, None) if longer is mine else (None, extra)
