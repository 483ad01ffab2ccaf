"""Pure. Two threads that issue a group's collectives in another order on another rank, while everything moves.

Collectives of a group pair by their number. Where the order of two threads is not agreed, a number may be the trainer's
reduction on one rank and the metrics thread's on another; as long as operations and sizes agree nothing fails. Such a
shift changes all the time, so `shifts` does not see it: what is compared here is who makes a number, and where.

A step that one rank left out makes its numbers differ, too, but by the same distance ever since: that is no disorder of
threads, and is left to `shifts`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ddpdoctor.observe.stream import NOWHERE, Moment, Names

#: numbers at which threads must have changed places until it is told
CROSSED = 3
#: collectives by which a rank may be ahead as a whole, or with one of its places, without that threads are in disorder
MOST_AHEAD = 8
#: collectives of each rank that are kept from the first number that differs, until all begins anew
MOST_KEPT = 1024
#: groups that are followed
MOST_GROUPS = 8


class Turn(NamedTuple):
    """One collective of one rank."""

    place: int
    #: whether the main thread made it: two threads may come through the same line
    main: bool
    thread: int
    time: float

    @property
    def role(self) -> tuple[int, bool]:
        """What has to be the same on all ranks."""
        return self.place, self.main


@dataclass(frozen=True, slots=True)
class Crossing:
    """Threads that have changed places."""

    group: int
    #: the first collective of the group at which they had, counted from 1, and when the last rank came to it
    number: int
    since: float
    #: what each rank did at that number
    turns: Mapping[int, Turn]
    #: at how many numbers it was seen so far
    times: int
    #: the ranks that differed from a majority at each of them; none where it was now one, now another
    odd: frozenset[int] = frozenset()


class _Order:
    """The collectives of one group, from a number on that no rank had reached."""

    def __init__(self, members: Sequence[int], begin: int) -> None:
        self.begin = begin
        self.turns: dict[int, list[Turn]] = {member: [] for member in members}
        self._seen = 0

    def drop_what_agrees(self) -> None:
        """Forget numbers before the first that differs."""
        same = 0
        for turns in zip(*self.turns.values(), strict=False):
            if len({turn.role for turn in turns}) > 1:
                break
            same += 1
        self.begin += same
        for own in self.turns.values():
            del own[:same]

    def crossed(self) -> tuple[list[int], int] | None:
        """The numbers at which threads have changed places, from `begin` on, and how many are known; None if there is
        nothing new."""
        known = min(len(own) for own in self.turns.values())
        if known == self._seen:
            return None
        self._seen = known
        first, *others = self.turns.values()
        return max((_crossed(first[:known], other[:known]) for other in others), key=len, default=[]), known


class ThreadOrders:
    """Takes in the moments of all ranks as they come."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._counts: dict[tuple[int, int], int] = defaultdict(int)
        #: (rank, group) -> the thread that used it first
        self._first: dict[tuple[int, int], int] = {}
        self._orders: dict[int, _Order] = {}
        self._blind = False

    def forget(self) -> None:
        """Moments were lost, so collectives cannot be counted any more: nothing is said from now on."""
        self._blind = True
        self._orders.clear()

    def add(self, rank: int, moments: Iterable[Moment], main: int) -> None:
        """Take in what a rank did next, in order; `main` is the number of its main thread."""
        if self._blind:
            return
        for moment in moments:
            if moment.group != NOWHERE:
                self._add(rank, moment, main)

    def _add(self, rank: int, moment: Moment, main: int) -> None:
        group = moment.group
        number = self._counts[rank, group]
        self._counts[rank, group] = number + 1
        order = self._orders.get(group)
        if order is not None:
            if number >= order.begin and rank in order.turns:
                order.turns[rank].append(Turn(moment.place, moment.thread == main, moment.thread, moment.time))
        elif self._first.setdefault((rank, group), moment.thread) != moment.thread and len(self._orders) < MOST_GROUPS:
            self._orders[group] = self._anew(group)

    def _anew(self, group: int) -> _Order:
        members = [int(member) for member in self._names.known[group].members]
        return _Order(members, max(self._counts[member, group] for member in members))

    def shares(self, group: int) -> bool:
        """Whether several threads of a rank use the group."""
        return group in self._orders

    def found(self) -> tuple[Crossing, ...]:
        """Groups whose threads have changed places often enough, each once."""
        found = []
        for group, order in list(self._orders.items()):
            order.drop_what_agrees()
            numbers, known = order.crossed() or ([], 0)
            if len(numbers) >= CROSSED:
                found.append(_crossing(group, order, numbers))
            if len(numbers) >= CROSSED or known > MOST_KEPT:
                self._orders[group] = self._anew(group)
        return tuple(found)


def _crossing(group: int, order: _Order, numbers: list[int]) -> Crossing:
    turns = {rank: own[numbers[0]] for rank, own in order.turns.items()}
    since = max(turn.time for turn in turns.values())
    odd = {_odd({rank: own[number].role for rank, own in order.turns.items()}) for number in numbers}
    always = odd.pop() if len(odd) == 1 else frozenset[int]()
    return Crossing(group, order.begin + numbers[0] + 1, since, turns, len(numbers), always)


def _odd(roles: Mapping[int, tuple[int, bool]]) -> frozenset[int]:
    """The ranks that do something else than most do."""
    [(usual, number), *_] = Counter(roles.values()).most_common(1)
    return frozenset(rank for rank, role in roles.items() if role != usual) if 2 * number > len(roles) else frozenset()


def _crossed(mine: Sequence[Turn], theirs: Sequence[Turn]) -> list[int]:
    """Where each of two ranks is in what the other does with another thread than the one that is there."""
    differ = [i for i, (one, two) in enumerate(zip(mine, theirs, strict=True)) if one.role != two.role]
    if len(differ) < CROSSED or _is_ahead(mine, theirs):
        return []
    here, there = _by_role(mine), _by_role(theirs)
    if any(abs(len(here[role]) - len(there[role])) > MOST_AHEAD for role in {**here, **there}):
        return []
    places, found = (Counter[tuple[int, bool]](), Counter[tuple[int, bool]]()), []
    wanted = set(differ)
    for i, (one, two) in enumerate(zip(mine, theirs, strict=True)):
        at = places[0][one.role], places[1][two.role]
        if i in wanted and _is_another(one, here[two.role], at[1]) and _is_another(two, there[one.role], at[0]):
            found.append(i)
        places[0][one.role] += 1
        places[1][two.role] += 1
    return found


def _is_another(turn: Turn, same: Sequence[Turn], which: int) -> bool:
    """Whether what the other rank does at this number is done here by another thread."""
    return which < len(same) and same[which].thread != turn.thread


def _by_role(turns: Sequence[Turn]) -> dict[tuple[int, bool], list[Turn]]:
    found: dict[tuple[int, bool], list[Turn]] = defaultdict(list)
    for turn in turns:
        found[turn.role].append(turn)
    return found


def _is_ahead(mine: Sequence[Turn], theirs: Sequence[Turn]) -> bool:
    """Whether both may do the same in the same order, one of them some collectives earlier: as long as few are known
    nothing speaks against it."""
    one, two = [turn.role for turn in mine], [turn.role for turn in theirs]
    return any(
        one[by:] == two[: max(0, len(two) - by)] or two[by:] == one[: max(0, len(one) - by)]
        for by in range(1, MOST_AHEAD + 1)
    )
