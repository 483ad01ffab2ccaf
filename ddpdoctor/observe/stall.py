"""Pure. Two clocks over the job's movement: when a proof is worth a look, and when stillness is a stall."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

#: seconds of stillness after which the wait-for graph is worth building
PROOF_AFTER = 3.0
#: seconds between looks for a proof: the first of these, then the next, the last from then on
PROOF_PAUSES = (2.0, 4.0, 8.0, 15.0, 30.0)

#: seconds over which a reported job must go on moving: a timeout's exception moves it, too, once, and ends it
SETTLING = 3.0
#: seconds that it must live on where it moved but once: what raised may need a while for its end on a busy machine
LIVED_ON = 12.0

#: `auto`: at least this long, at least FACTOR times the run's own longest gap, FIRST_STEP before the first step
FLOOR = 30.0
FACTOR = 5.0
FIRST_STEP = 600.0
#: `auto` without pages: nothing tells movement but a look, so one is taken this often
BLIND = 60.0


class Decision(Enum):
    KEEP = "keep watching"
    PROVE = "look whether a deadlock can be proven"
    STALLED = "collect everything and report"
    RESUMED = "what was reported has moved on"


@dataclass(frozen=True, slots=True)
class Pulse:
    """One reading of all pages. Times are CLOCK_MONOTONIC seconds."""

    time: float
    #: the newest movement of any rank
    moved: float
    #: the largest number of optimizer steps of a rank
    steps: int
    #: ranks whose page could be read
    pages: int
    #: the smallest group timeout, None where no page tells one
    group_timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """What the clocks remember."""

    started: float
    moved: float
    #: no pages will ever come: the probe is off
    blind: bool = False
    #: a page has been read: without any, no proof is possible
    paged: bool = False
    longest_gap: float = 0.0
    stepped: bool = False
    group_timeout: float | None = None
    #: looks for a proof since the last movement, and when the last was
    looks: int = 0
    looked: float = 0.0
    #: when a full look found nothing to report; the stall clock starts again there
    cleared: float = 0.0
    #: a report was made at this movement, and how many since
    reported: float | None = None
    reports: int = 0
    reported_at: float = 0.0
    #: when the first movement after a report was read, and when it was made
    stirred: float | None = None
    stirred_by: float = 0.0


def advance(progress: Progress, pulse: Pulse) -> Progress:
    """Take in a reading; movement resets the looks, and after the first step its gap is learned."""
    timeout = pulse.group_timeout or progress.group_timeout
    progress = replace(progress, group_timeout=timeout, paged=progress.paged or pulse.pages > 0)
    if pulse.moved <= progress.moved:
        return progress
    gap = pulse.moved - progress.moved if progress.stepped else 0.0
    return replace(
        progress,
        moved=pulse.moved,
        longest_gap=max(progress.longest_gap, gap),
        stepped=progress.stepped or pulse.steps > 0,
        looks=0,
        stirred=pulse.time if progress.stirred is None else progress.stirred,
        stirred_by=pulse.moved if progress.stirred is None else progress.stirred_by,
    )


def stall_after(progress: Progress, wanted: float | None) -> float:
    """Seconds of stillness that count as a stall; `wanted` is the user's figure, None for `auto`."""
    if wanted is not None:
        return wanted
    learned = BLIND if progress.blind else FIRST_STEP
    if progress.stepped:
        learned = max(FLOOR, FACTOR * progress.longest_gap)
    return min(learned, progress.group_timeout / 2) if progress.group_timeout else learned


def decide(progress: Progress, now: float, wanted: float | None) -> Decision:
    """What to do now."""
    if progress.reported is not None and progress.stirred is not None:
        goes_on = progress.moved - progress.stirred_by >= SETTLING
        return Decision.RESUMED if goes_on or now - progress.stirred >= LIVED_ON else Decision.KEEP
    if progress.reported is not None:
        # a verdict stands; look again ever more rarely whether it still holds
        pause = stall_after(progress, wanted) * 2**progress.reports
        return Decision.STALLED if now - progress.reported_at >= max(pause, FLOOR) else Decision.KEEP
    if now - max(progress.moved, progress.cleared) >= stall_after(progress, wanted):
        return Decision.STALLED
    pause = PROOF_PAUSES[min(progress.looks, len(PROOF_PAUSES)) - 1] if progress.looks else 0.0
    due = progress.paged and now - progress.moved >= PROOF_AFTER and now - progress.looked >= pause
    return Decision.PROVE if due else Decision.KEEP


def looked(progress: Progress, now: float) -> Progress:
    """A look for a proof found none."""
    return replace(progress, looks=progress.looks + 1, looked=now)


def cleared(progress: Progress, now: float) -> Progress:
    """A full look found nothing to report; one that was reported before stands, and is looked at more rarely."""
    return replace(progress, cleared=now) if progress.reported is None else reported(progress, now)


def reported(progress: Progress, now: float) -> Progress:
    """A report was made."""
    return replace(progress, reported=progress.moved, reports=progress.reports + 1, reported_at=now, stirred=None)


def resumed(progress: Progress) -> Progress:
    """The job moves again: as if nothing had been reported."""
    return replace(progress, reported=None, reports=0, looks=0)
