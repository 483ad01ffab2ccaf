"""Pure. When a part of a job may be deadlocked while the rest moves: which threads, and when to try to prove it.

What is looked at are calls in flight, which pages tell for microseconds. A set of threads is closed if each has been in
one call for a while, and none of the calls can be met by a thread outside of the set: a member of its group is one that
uses the group only from threads of the set, which are elsewhere. That is no proof, but what a proof needs; waits of
healthy jobs are not closed, because somebody who works is waited for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

#: seconds in one call after which a thread counts as standing
STANDING = 4.0
#: seconds between readings of the calls in flight
READING = 1.0
#: seconds between attempts at a proof of the same set: after the first, the next ones, and the last from then on
PAUSES = (4.0, 8.0, 15.0, 30.0, 60.0)
#: attempts may take one part in so many of the time, whatever they are about
SHARE = 50.0


@dataclass(frozen=True, slots=True)
class Stand:
    """A thread that has been in one call for a while."""

    rank: int
    thread: int
    op: str
    #: the group's name, "" if the page does not tell it (backward)
    group: str
    #: who can meet the call: members of its group or its peer, the rank itself excepted
    others: frozenset[int]
    #: a message to or from one rank, and no operation of the whole group
    paired: bool
    #: CLOCK_MONOTONIC seconds at entry
    since: float

    @property
    def key(self) -> tuple[int, int, float]:
        return self.rank, self.thread, self.since


@dataclass(frozen=True, slots=True)
class Seat:
    """One rank at one reading: which of its threads stand, and which use which group."""

    rank: int
    pid: int = 0
    stands: tuple[Stand, ...] = ()
    #: threads that ever communicated, and the main thread
    threads: frozenset[int] = frozenset()
    #: group -> threads that have used it; a group that is not in it may be used by any thread
    users: Mapping[str, frozenset[int]] = field(default_factory=dict)
    #: the process has ended
    gone: bool = False

    def of(self, group: str) -> frozenset[int]:
        """The threads that may use a group."""
        return self.users.get(group) or self.threads


def closed(seats: Iterable[Seat]) -> tuple[Stand, ...]:
    """The largest set of standing threads none of which waits for somebody outside of the set."""
    by_rank = {seat.rank: seat for seat in seats}
    held = {(stand.rank, stand.thread): stand for seat in by_rank.values() for stand in seat.stands}
    while True:
        free = [key for key, stand in held.items() if not _is_held(stand, by_rank, held)]
        if not free:
            return tuple(held[key] for key in sorted(held))
        for key in free:
            del held[key]


def _is_held(stand: Stand, seats: Mapping[int, Seat], held: Mapping[tuple[int, int], Stand]) -> bool:
    """Whether someone who must meet the call has ended, or stands elsewhere with all threads that could."""
    return any(_never_comes(seats.get(other), stand, held) for other in stand.others)


def _never_comes(seat: Seat | None, stand: Stand, held: Mapping[tuple[int, int], Stand]) -> bool:
    if seat is None:
        return False
    if seat.gone:
        return True
    elsewhere = [held.get((seat.rank, thread)) for thread in seat.of(stand.group)]
    return bool(elsewhere) and all(one is not None and not _together(one, stand) for one in elsewhere)


def _together(one: Stand, other: Stand) -> bool:
    """Whether two threads are in the same operation, as far as that can be told without counting."""
    if one.paired or other.paired:
        return False
    return (one.op, one.group) == (other.op, other.group) and one.rank in other.others and other.rank in one.others


@dataclass(frozen=True, slots=True)
class Attempts:
    """What was tried so far. Times are CLOCK_MONOTONIC seconds."""

    #: the set that the last reading showed
    candidate: frozenset[tuple[int, int, float]] = frozenset()
    #: attempts at a proof of it
    tried: int = 0
    #: when the last attempt ended, and how long it took
    ended: float = 0.0
    took: float = 0.0
    #: sets that are proven and told
    told: frozenset[tuple[int, int, float]] = frozenset()


def notice(attempts: Attempts, found: Iterable[Stand]) -> tuple[Attempts, bool]:
    """Take in a reading; whether the set is one that the reading before showed, too, and that was not told."""
    keys = frozenset(stand.key for stand in found)
    if keys != attempts.candidate:
        return replace(attempts, candidate=keys, tried=0), False
    return attempts, bool(keys - attempts.told)


def is_due(attempts: Attempts, now: float) -> bool:
    """Whether a proof may be tried now."""
    pause = PAUSES[min(attempts.tried, len(PAUSES)) - 1] if attempts.tried else 0.0
    return now - attempts.ended >= max(pause, SHARE * attempts.took)


def tried(attempts: Attempts, began: float, ended: float, *, proven: bool) -> Attempts:
    """Record an attempt."""
    told = attempts.told | attempts.candidate if proven else attempts.told
    return replace(attempts, tried=attempts.tried + 1, ended=ended, took=ended - began, told=told)
