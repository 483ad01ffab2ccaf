"""Pure. Ranks compared in the same turn of a loop without a loader, of which nothing is recorded but its collectives.

In turn t of a loop each rank of a group has the same number of collectives behind it. Which turn a rank is in only its
loop's counter tells, which is in its stack: so ranks are looked at, first to learn how many turns go to a collective,
or collectives to a turn, and how the ranks stand to each other, then when one came to a collective unusually late,
which a turn that was passed over and one that was taken twice both cause. What a look costs is paid out of a share of
the time.

A rank that comes to the same by another line for once has as many collectives behind it in each turn as the others.

A loop inside of another one begins anew, and may have done so between two looks. Only looks of which that is ruled out
count together; where a loop begins anew more often than ranks are looked at, nothing is said.
"""

from __future__ import annotations

import functools
import itertools
import operator
import statistics
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ddpdoctor.observe.in_step import InStep
from ddpdoctor.observe.shifts import Counted, Shift
from ddpdoctor.observe.stream import BACKWARD, FORWARD, FORWARD_NO_SYNC, NEXT, NOWHERE, STOP, UNREDUCED, Moment, Names

_PASSES = frozenset({FORWARD, FORWARD_NO_SYNC, BACKWARD, UNREDUCED})
#: processor seconds that a look at one rank takes or so, and the share of the time that looks may take; what they may
#: take at once
COST, SHARE, CREDIT = 0.012, 0.0025, 2.4
#: seconds between two looks, without an occasion, and where ranks have not settled
AGAIN, SELDOM, GIVEN_UP = 0.25, 20.0, 300.0
#: looks after an occasion: some meet a rank on its way between two turns, and say nothing
LOOKS = 8
#: seconds before a change was seen in which an occasion has shown it
RECENT = 5.0
#: looks in a row that must say the same of a rank, and looks until it is given up that ranks settle
SAME, TRIES = 2, 40
#: looks of which is learnt how turns and visits go together; most turns to a visit, and visits to a turn
MOST_LOOKS, MOST_RATIO = 16, 64
#: looks at each rank that must show several visits to a turn: a loop that begins anew between looks seems to have them
FEWEST_LOOKS = 8
#: an occasion: so many seconds between the first and the last at a collective, and times what is usual for it; and
#: this share of the time from one collective to the next
LATE, TIMES, PART = 0.015, 4.0, 0.3
#: collectives that show what is usual
USUAL, FEWEST = 32, 8
#: visits of a route that are kept
MOST_VISITS = 128
#: visits until a route is taken for part of a loop
VISITED = 4
#: collectives that wait for those of other ranks
MOST_OPEN = 1024
#: groups of which it is remembered how they meet
MOST_GROUPS = 64


class Seen(NamedTuple):
    """A rank in a turn of a loop."""

    rank: int
    #: its visits of the route when its stack was read: at least, and at most
    least: int
    visits: int
    #: the turns that it has begun
    begun: int
    #: whether it has still to come to the route in this one; None if it may be there
    comes: bool | None


class Between(NamedTuple):
    """All that a number can be, both ends included; `least` is greater than `most` if it can be nothing."""

    least: int
    most: int

    def __and__(self, other: Between) -> Between:
        return Between(max(self.least, other.least), min(self.most, other.most))

    @property
    def is_empty(self) -> bool:
        return self.least > self.most

    @property
    def is_one(self) -> bool:
        return self.least == self.most


class Ratio(NamedTuple):
    """How a loop's turns and the visits of a route in it go together: one of them is 1."""

    turns: int
    visits: int

    def ahead(self, seen: Seen) -> Between:
        """What the rank's place in the program can be ahead of its visits: it comes by for the n-th time in turn
        `turns` * n plus this number; or this number plus n are the visits that its turns until then should have.
        """
        passed = Between(seen.begun - (seen.comes is not False), seen.begun - (seen.comes is True))
        return Between(
            passed.least * self.visits - seen.visits * self.turns - (self.turns - 1),
            passed.most * self.visits - seen.least * self.turns,
        )

    def is_same_pass(self, earlier: Seen, later: Seen) -> bool:
        """Whether the loop cannot have begun anew between two looks at a rank: all turns of its pass until then, those
        that the first look saw at least, would have fallen away."""
        return self.ahead(earlier).most - self.ahead(later).least < earlier.begun * self.visits


RATIOS = (
    Ratio(1, 1),
    *(Ratio(many, 1) for many in range(2, MOST_RATIO + 1)),
    *(Ratio(1, many) for many in range(2, MOST_RATIO + 1)),
)


class _Row(NamedTuple):
    """Looks that agree on a rank: on what, how many, and when the first and the last were."""

    ahead: Between
    times: int
    first: float
    last: float
    #: the newest
    seen: Seen
    #: what the looks since an occasion say by themselves, and when that was
    fresh: Between
    occasion: float

    def is_sure(self, changed: float) -> bool:
        return self.ahead.is_one and self.times >= SAME and self.last > changed


@dataclass(slots=True)
class _Settled:
    """How ranks stand to each other at one route."""

    newest: dict[int, _Row] = field(default_factory=dict)
    #: whether a turn may come by several times
    several: bool = True
    #: how turns and visits go together, once it is known; until then the looks of each rank, with their times
    ratio: Ratio | None = None
    looks: dict[int, deque[tuple[Seen, float]]] = field(default_factory=dict)
    #: collectives before the same visit, against the first rank
    level: tuple[int, ...] = ()
    #: rank -> collectives more than the majority in the same turn, as it was when all had settled
    usual: dict[int, int] | None = None
    #: looks since all had settled
    tries: int = 0
    #: the newest look, and when it was: that nothing changed the level just before it only later visits show
    open: tuple[tuple[Seen, ...], float] = ((), 0.0)

    def merge(self, seen: Iterable[Seen], now: float, occasion: float) -> None:
        """Take in a look; the newest occasion was at `occasion`."""
        for one in seen:
            if self._has_begun_anew(one):
                self.ratio, self.newest, self.usual = None, {}, None
            if self.ratio is None:
                self.looks.setdefault(one.rank, deque(maxlen=MOST_LOOKS)).append((one, now))
            else:
                self._merge(one, self.ratio, now, occasion)
        if self.ratio is None:
            self._learn(occasion)

    def _has_begun_anew(self, seen: Seen) -> bool:
        """Whether a loop has, of whose turns several visits each are believed: if it does so more often than is seen,
        there may be another number of them."""
        row = self.newest.get(seen.rank)
        return self.ratio is not None and self.ratio.visits > 1 and row is not None and seen.begun < row.seen.begun

    def _merge(self, seen: Seen, ratio: Ratio, now: float, occasion: float) -> None:
        row, ahead = self.newest.get(seen.rank), ratio.ahead(seen)
        if row is None or (row.ahead & ahead).is_empty or not ratio.is_same_pass(row.seen, seen):
            self.newest[seen.rank] = _Row(ahead, 1, now, now, seen, ahead, occasion)
        elif seen.visits > row.seen.visits:
            fresh = row.fresh & ahead if row.occasion == occasion else ahead
            both = row.ahead & ahead
            self.newest[seen.rank] = _Row(both, row.times + 1, row.first, now, seen, fresh, occasion)

    def _learn(self, occasion: float) -> None:
        """Find the ratio if for each rank it is the only one that explains its looks: what one rank did otherwise in
        between must not make it another. One that explains them counts also where the loop may have begun anew between
        two looks: then it is not learnt, but neither is another one."""
        looks = self.looks.values()
        explaining = [{ratio for ratio in RATIOS if _explains(ratio, own)} for own in looks]
        found = set[Ratio]().union(*explaining)
        if not all(explaining):
            self.looks.clear()
        elif len(found) == 1:
            [ratio] = found
            if self._has_shown(ratio) and all(_in_one_pass(ratio, own) for own in looks):
                self.ratio = ratio
                for seen, then in sorted(itertools.chain(*looks), key=lambda look: look[1]):
                    self._merge(seen, ratio, then, occasion)
                self.looks.clear()

    def _has_shown(self, ratio: Ratio) -> bool:
        """Whether the source and looks enough speak for this ratio."""
        seldom = min(map(len, self.looks.values())) < FEWEST_LOOKS
        return ratio.visits == 1 or (self.several and not seldom)

    @property
    def changed(self) -> float:
        """When the last of the ranks was first seen as it is now."""
        return max((row.first for row in self.newest.values()), default=0.0)

    def is_confirmed(self, occasion: float) -> bool:
        """Whether looks since the occasion have shown by themselves that all is as it was."""
        return all(row.occasion == occasion and row.fresh.is_one for row in self.newest.values())

    def known(self, members: Iterable[int]) -> dict[int, int]:
        """How far each of these ranks is ahead, as far as it is known. Where a loop begins anew ranks change one after
        the other, so each must have come by once more since the last did."""
        rows = {rank: self.newest[rank] for rank in members if rank in self.newest}
        return {rank: row.ahead.least for rank, row in rows.items() if row.is_sure(self.changed)}


def _explains(ratio: Ratio, looks: Iterable[tuple[Seen, float]]) -> bool:
    return not functools.reduce(operator.and_, (ratio.ahead(seen) for seen, _ in looks)).is_empty


def _in_one_pass(ratio: Ratio, looks: Iterable[tuple[Seen, float]]) -> bool:
    return all(itertools.starmap(ratio.is_same_pass, itertools.pairwise(seen for seen, _ in looks)))


class Turns:
    """Takes in the moments of all ranks as they come, and what looks have shown."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._counts: dict[tuple[int, int], int] = defaultdict(int)
        self._visits: dict[tuple[int, int], int] = defaultdict(int)
        #: (rank, route) -> (visit, collectives of the group before it), the newest last
        self._positions: dict[tuple[int, int], deque[tuple[int, int]]] = defaultdict(lambda: deque(maxlen=MOST_VISITS))
        #: thread -> routes of its collectives since it last began a forward or a backward
        self._since_pass: dict[tuple[int, int], set[int]] = {}
        #: threads that are in a loop over a loader, where `shifts` compares
        self._loading: set[tuple[int, int]] = set()
        self._open: dict[int, InStep[float]] = {}
        self._spreads: dict[int, deque[float]] = defaultdict(lambda: deque(maxlen=USUAL))
        self._periods: dict[int, deque[float]] = defaultdict(lambda: deque(maxlen=USUAL))
        self._last: dict[int, float] = {}
        self._settled: dict[int, _Settled] = defaultdict(_Settled)
        self._groups: dict[int, int] = {}
        self._credit, self._paid, self._looked = CREDIT, 0.0, 0.0
        self._wanted = 0
        self._occasion = 0.0
        self._blind = False

    def forget(self) -> None:
        """Moments were lost, so nothing can be counted any more: nothing is said from now on."""
        self._blind = True

    def add(self, rank: int, moments: Iterable[Moment]) -> None:
        """Take in what a rank did next, in order."""
        for moment in moments if not self._blind else ():
            code, thread = moment.code, (rank, moment.thread)
            if code == NEXT:
                self._loading.add(thread)
            elif code == STOP:
                self._loading.discard(thread)
            elif code in _PASSES:
                self._since_pass[thread] = set()
            if moment.route != NOWHERE and moment.group != NOWHERE and thread not in self._loading:
                self._meet_by(rank, thread, moment)

    def _meet_by(self, rank: int, thread: tuple[int, int], moment: Moment) -> None:
        group, route = moment.group, moment.route
        passed = self._since_pass.get(thread)
        if passed is None or route not in passed:
            self._visits[rank, route] += 1
            self._positions[rank, route].append((self._visits[rank, route], self._counts[rank, group]))
        if passed is not None:
            # a sharded model gathers its layers one after the other, all by the line that runs it
            passed.add(route)
        self._counts[rank, group] += 1
        self._groups[route] = group
        if moment.blocks:
            self._arrive(rank, group, moment.time)

    def _arrive(self, rank: int, group: int, time: float) -> None:
        waiting = self._open.get(group)
        if waiting is None:
            waiting = self._open[group] = InStep(self._names.known[group].members)
            if len(self._open) > MOST_GROUPS:
                self._forget_idle(group)
        if waiting.add(rank, time) > MOST_OPEN:
            waiting.clear()
        elif waiting.is_complete:
            times = waiting.take()
            self._meet(group, max(times) - min(times), max(times))

    def _forget_idle(self, used: int) -> None:
        """Forget how the groups met that nobody has used for longest: a job may make one for every epoch."""
        idle = (group for group, came in self._open.items() if came.is_idle and group != used)
        oldest = sorted(idle, key=lambda group: self._last.get(group, 0.0))
        for group in oldest[: len(self._open) - MOST_GROUPS // 2]:
            for kept in (self._open, self._spreads, self._periods, self._last):
                kept.pop(group, None)

    def _meet(self, group: int, spread: float, time: float) -> None:
        spreads, periods = self._spreads[group], self._periods[group]
        if len(spreads) >= FEWEST and periods:
            usual = max(LATE, TIMES * statistics.median(spreads), PART * statistics.median(periods))
            if spread >= usual:
                self._wanted, self._occasion = LOOKS, time
        spreads.append(spread)
        if group in self._last:
            periods.append(time - self._last[group])
        self._last[group] = time

    def routes(self) -> list[tuple[int, int]]:
        """Routes that every rank of their group has come by often enough, and the group, the most visited first."""
        found = []
        for route, group in self._groups.items():
            visits = [self._visits[int(member), route] for member in self._names.known[group].members]
            if min(visits) >= VISITED and len(visits) > 1:
                found.append((min(visits), route, group))
        return [(route, group) for _, route, group in sorted(found, reverse=True)]

    def visits(self, rank: int, route: int) -> int:
        """How often a rank has come by a route."""
        return self._visits[rank, route]

    @property
    def wanted(self) -> bool:
        """Whether an occasion asks for looks soon."""
        return self._wanted > 0

    def is_due(self, route: int, now: float, ranks: int) -> bool:
        """Whether to look at so many ranks now, for this route."""
        settled = self._settled[route]
        if settled.usual is None and settled.tries >= TRIES:
            pause = GIVEN_UP
        else:
            begins = settled.usual is None and not settled.tries
            pause = AGAIN if self._wanted or begins or 0 < settled.tries < TRIES else SELDOM
        if self._blind or now - self._looked < pause:
            return False
        self._credit = min(CREDIT, self._credit + SHARE * (now - (self._paid or now)))
        self._paid = now
        if self._credit < COST * ranks:
            return False
        self._looked = now
        self._wanted = max(0, self._wanted - 1)
        return True

    def pay(self, seconds: float) -> None:
        """What a look has taken of a processor."""
        self._credit -= seconds

    def take(self, route: int, seen: Iterable[Seen], now: float, *, several: bool) -> Shift | None:
        """Compare the ranks by what a look has shown; the shift of some that is new since they settled. `several`:
        whether a turn may come by the route several times, as the source shows."""
        group, settled = self._groups[route], self._settled[route]
        settled.several = several
        members = [int(member) for member in self._names.known[group].members]
        settled.tries += 1
        visit, level = self._level(route, members)
        if level != settled.level:
            # a look that leaves open what it saw would be taken for what was so before
            settled.level, settled.newest, settled.looks, settled.open = level, {}, {}, ((), 0.0)
            return None
        before, then = settled.open
        if all(one.visits < visit for one in before):
            settled.merge(before, then, self._occasion if then > self._occasion else 0.0)
            settled.open = tuple(seen), now
        known = settled.known(members)
        if len(known) < len(members):
            return None
        settled.tries = 0
        shift = self._compare(route, group, known, settled, settled.ratio or RATIOS[0])
        if shift is None and settled.is_confirmed(self._occasion):
            self._wanted = 0
        return shift

    def _level(self, route: int, members: list[int]) -> tuple[int, tuple[int, ...]]:
        """The newest visit of all, and the collectives before it against the first rank."""
        positions = [dict(self._positions[rank, route]) for rank in members]
        common = set.intersection(*map(set, positions))
        if not common:
            return 0, ()
        visit = max(common)
        return visit, tuple(own[visit] - positions[0][visit] for own in positions)

    def _compare(
        self, route: int, group: int, ahead: Mapping[int, int], settled: _Settled, ratio: Ratio
    ) -> Shift | None:
        positions = {rank: dict(self._positions[rank, route]) for rank in ahead}
        stand = _standing(positions, ahead, ratio)
        if not stand:
            return None
        [(most, number), *_] = Counter(stand.values()).most_common(1)
        majority = 2 * number > len(stand)
        more = {rank: count - (most if majority else stand[min(stand)]) for rank, count in stand.items()}
        if settled.usual is None:
            settled.usual = more
        if more == settled.usual:
            return None
        by = {rank: more[rank] - before for rank, before in settled.usual.items() if more[rank] != before}
        settled.usual = more
        counted = Counted.COLLECTIVES if ratio.turns == 1 else Counted.TURNS
        if counted is Counted.TURNS and not any(turns % ratio.turns for turns in by.values()):
            # so many turns ahead at the same collective: collectives behind in the same turn
            counted, by = Counted.COLLECTIVES, {rank: -turns // ratio.turns for rank, turns in by.items()}
        visit = max(positions[min(positions)])
        changed = settled.changed
        since = self._occasion if changed - RECENT < self._occasion < changed else changed
        return Shift(group, counted, (route, NOWHERE), tuple(by.items()), majority, visit, since)


def _standing(
    positions: Mapping[int, Mapping[int, int]], ahead: Mapping[int, int], ratio: Ratio
) -> Mapping[int, int] | None:
    """The collectives of each rank at the same place of the program; where several turns go to one, the turns at the
    same collective. None if the ranks have not come to the same."""
    if ratio.turns == 1:
        own = {rank: {n + ahead[rank]: total for n, total in before.items()} for rank, before in positions.items()}
    else:
        own = {
            rank: {total: ratio.turns * n + ahead[rank] for n, total in before.items()}
            for rank, before in positions.items()
        }
    common = set.intersection(*map(set, own.values()))
    return {rank: one[max(common)] for rank, one in own.items()} if common else None
