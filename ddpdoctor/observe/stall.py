"""Pure. Two clocks over the job's movement: when to try to prove a deadlock, and when to call it a stall."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from ddpdoctor.observe.pace import Head

#: seconds without movement after which the wait-for graph is built
PROOF_AFTER = 3.0
#: seconds between attempts at a proof: the first, the next ones, and the last from then on
PROOF_PAUSES = (2.0, 4.0, 8.0, 15.0, 30.0)

#: seconds for which a reported job must keep moving to count as resumed: a timeout's exception also moves it, once, and
#: ends it
SETTLING = 3.0
#: seconds it must live on if it moved only once: a process that raised may take a while to end on a busy machine
LIVED_ON = 12.0

#: seconds without movement after which a job that is told to end is looked at first
STOOD = 6.0

#: `auto`: at least this long, and at least FACTOR times the run's own longest gap; UNTAUGHT before it is known how the
#: run moves
FLOOR = 30.0
FACTOR = 5.0
UNTAUGHT = 600.0
#: readings that show movement after which that is known, for jobs without an optimizer: they evaluate, generate, or
#: reduce gradients by hand. Building and distributing a model moves, too, but not for so long.
TAUGHT = 40
#: a job that has moved for so long, and within the last second, goes on as it did
SETTLED, JUST_NOW = 60.0, 1.0
#: `auto` without pages: movement is known only from examinations, so one is made at this interval
BLIND = 60.0


class Decision(Enum):
    KEEP = "keep watching"
    PROVE = "try to prove a deadlock"
    STALLED = "collect everything and report"
    RESUMED = "the reported job has moved on"


@dataclass(frozen=True, slots=True)
class Pulse:
    """One reading of all pages. Times are CLOCK_MONOTONIC seconds."""

    time: float
    #: the newest movement of any rank
    moved: float
    #: the largest number of optimizer steps of any rank
    steps: int
    #: ranks whose page could be read
    pages: int
    #: the smallest group timeout, None if no page states one
    group_timeout: float | None = None
    #: what each of them says
    heads: tuple[Head, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of the clocks."""

    started: float
    moved: float
    #: there will be no pages, because the probe is off
    blind: bool = False
    #: a page has been read; without any, no proof is possible
    paged: bool = False
    longest_gap: float = 0.0
    #: the largest number of optimizer steps that was read of any rank
    steps: int = 0
    #: readings that showed movement
    moves: int = 0
    #: since when it is known how the run moves, None as long as it is not
    taught_since: float | None = None
    group_timeout: float | None = None
    #: attempts at a proof since the last movement, and when the last was made
    attempts: int = 0
    attempted: float = 0.0
    #: when an examination found nothing to report; the stall clock starts again there
    cleared: float = 0.0
    #: the movement at which a report was made, and the number of reports since then
    reported: float | None = None
    reports: int = 0
    reported_at: float = 0.0
    #: when the first movement after a report was read, and when it happened
    stirred: float | None = None
    stirred_by: float = 0.0

    @property
    def taught(self) -> bool:
        """Whether the run's movement shows how it goes on: from its first optimizer step, or after a while."""
        return self.steps > 0 or self.moves >= TAUGHT


def advance(progress: Progress, pulse: Pulse) -> Progress:
    """Process a reading. Movement resets the attempts, and its gap is learned once there is a rhythm."""
    timeout = pulse.group_timeout or progress.group_timeout
    paged = progress.paged or pulse.pages > 0
    if pulse.moved <= progress.moved:
        return replace(progress, group_timeout=timeout, paged=paged)
    gap = pulse.moved - progress.moved if progress.taught else 0.0
    since = pulse.time if progress.taught and progress.taught_since is None else progress.taught_since
    return replace(
        progress,
        group_timeout=timeout,
        paged=paged,
        moved=pulse.moved,
        longest_gap=max(progress.longest_gap, gap),
        steps=max(progress.steps, pulse.steps),
        moves=progress.moves + 1,
        taught_since=since,
        attempts=0,
        stirred=pulse.time if progress.stirred is None else progress.stirred,
        stirred_by=pulse.moved if progress.stirred is None else progress.stirred_by,
    )


def stall_after(progress: Progress, wanted: float | None) -> float:
    """Seconds without movement that count as a stall; `wanted` is the user's value, None for `auto`."""
    if wanted is not None:
        return wanted
    learned = BLIND if progress.blind else UNTAUGHT
    if progress.taught:
        learned = max(FLOOR, FACTOR * progress.longest_gap)
    return min(learned, progress.group_timeout / 2) if progress.group_timeout else learned


def decide(progress: Progress, now: float, wanted: float | None) -> Decision:
    """What to do now."""
    if progress.reported is not None and progress.stirred is not None:
        goes_on = progress.moved - progress.stirred_by >= SETTLING
        return Decision.RESUMED if goes_on or now - progress.stirred >= LIVED_ON else Decision.KEEP
    if progress.reported is not None:
        # a verdict was reported; whether it still holds is checked after the same time, and then at growing intervals
        pause = stall_after(progress, wanted) * 2 ** (progress.reports - 1)
        due = now - progress.reported_at >= (pause if progress.reports == 1 else max(pause, FLOOR))
        return Decision.STALLED if due else Decision.KEEP
    if now - max(progress.moved, progress.cleared) >= stall_after(progress, wanted):
        return Decision.STALLED
    pause = PROOF_PAUSES[min(progress.attempts, len(PROOF_PAUSES)) - 1] if progress.attempts else 0.0
    due = progress.paged and now - progress.moved >= PROOF_AFTER and now - progress.attempted >= pause
    return Decision.PROVE if due else Decision.KEEP


def stands_still(progress: Progress, now: float) -> bool:
    """Whether nothing has moved for a while, as the pages show, and nothing was reported of it."""
    return progress.paged and progress.reported is None and now - progress.moved >= STOOD


def goes_on(progress: Progress, now: float) -> bool:
    """Whether the job moves as it has done for a while, and nothing was reported of it."""
    settled = progress.taught_since is not None and now - progress.taught_since >= SETTLED
    return settled and progress.reported is None and now - progress.moved < JUST_NOW


def proof_failed(progress: Progress, now: float) -> Progress:
    """Record an attempt that proved no deadlock."""
    return replace(progress, attempts=progress.attempts + 1, attempted=now)


def cleared(progress: Progress, now: float) -> Progress:
    """Record an examination that found nothing to report. A verdict reported before remains, and is checked
    less often."""
    return replace(progress, cleared=now) if progress.reported is None else reported(progress, now)


def reported(progress: Progress, now: float) -> Progress:
    """Record a report."""
    return replace(progress, reported=progress.moved, reports=progress.reports + 1, reported_at=now, stirred=None)


def resumed(progress: Progress) -> Progress:
    """Record that the job moves again, as if nothing had been reported."""
    return replace(progress, reported=None, reports=0, attempts=0)
