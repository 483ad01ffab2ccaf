"""Pure. How fast a job goes and who is behind, from the counters at the head of every rank's page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

#: seconds over which steps per second are measured, and the fewest that say anything
WINDOW, FEWEST = 30.0, 2.0
#: seconds that the others must have waited before a wait is worth remembering
NOTICED = 2.0


@dataclass(frozen=True, slots=True)
class Head:
    """One rank at one reading of its page."""

    rank: int
    steps: int
    backwards: int
    forwards: int
    #: CLOCK_MONOTONIC seconds of its last counter, call or event
    moved: float

    @property
    def reached(self) -> tuple[int, int, int]:
        """How far it has come: ranks of one program count the same."""
        return self.steps, self.backwards, self.forwards


@dataclass(frozen=True, slots=True)
class Wait:
    """Ranks that are behind all others, which have not moved for so long."""

    seconds: float
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pace:
    """What readings have shown so far."""

    #: the newest reading, by rank
    heads: tuple[Head, ...] = ()
    #: (CLOCK_MONOTONIC seconds, the most steps of any rank), oldest first
    recent: tuple[tuple[float, int], ...] = ()
    #: the wait that goes on, None if nobody waits or nobody is behind
    wait: Wait | None = None
    longest: Wait | None = None

    @property
    def rate(self) -> float | None:
        """Optimizer steps per second of late; None before two steps were seen."""
        if len(self.recent) < 2:
            return None
        (first, before), (last, after) = self.recent[0], self.recent[-1]
        return (after - before) / (last - first) if last - first >= FEWEST and after > 0 else None


def advance(pace: Pace, now: float, heads: Iterable[Head]) -> Pace:
    """Take in a reading. Of a rank that was started again the newer process counts."""
    newest: dict[int, Head] = {}
    for head in heads:
        known = newest.get(head.rank)
        if known is None or head.moved > known.moved:
            newest[head.rank] = head
    kept = tuple(newest[rank] for rank in sorted(newest))
    steps = max((head.steps for head in kept), default=0)
    if pace.recent and steps < pace.recent[-1][1]:
        pace = replace(pace, recent=())  # the launcher has started the ranks again
    recent = tuple(one for one in pace.recent if now - one[0] <= WINDOW)
    wait = _wait(kept, now)
    longest = pace.longest
    if wait is not None and wait.seconds >= NOTICED and (longest is None or wait.seconds > longest.seconds):
        longest = wait
    return Pace(kept, (*recent, (now, steps)), wait, longest)


def _wait(heads: tuple[Head, ...], now: float) -> Wait | None:
    """Ranks that have come less far than all others, and for how long these stand still."""
    furthest = max((head.reached for head in heads), default=(0, 0, 0))
    behind = tuple(head.rank for head in heads if head.reached < furthest)
    if not behind:
        return None
    waiting = max(head.moved for head in heads if head.reached == furthest)
    return Wait(max(now - waiting, 0.0), behind)
