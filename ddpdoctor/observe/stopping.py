"""Pure. Whether a verdict suffices to stop a job: a healthy job must never be stopped.

A proof suffices. A suspicion does only if a second look, as long after the first as the stall took, finds the same,
and what moved in between is nothing: two samples a moment apart cannot tell a rank that is blocked from one that works
in long sleeps. What is only possible never suffices, and neither does what was seen of a part of the job: the ranks of
another node may be at work.

After a crash some launchers leave the other ranks waiting for the one that is gone. That is a suspicion, too.
"""

from __future__ import annotations

from enum import Enum

from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Outcome
from ddpdoctor.model.report import Report


class Grounds(Enum):
    """What a report gives to stop a job on."""

    PROVEN = "a deadlock is proven"
    SUSPECTED = "a deadlock is suspected"
    TOO_WEAK = "nothing is more than possible"
    PART = "not all ranks were seen"
    NO_HANG = "the job does not hang"


def grounds(report: Report) -> Grounds:
    """What this report gives to stop the job on."""
    if report.outcome is not Outcome.HANG and not _left_waiting(report):
        return Grounds.NO_HANG
    if any(rank.state == Activity.UNSEEN.value for rank in report.ranks):
        return Grounds.PART
    if report.deadlock is Deadlock.PROVEN:
        return Grounds.PROVEN
    first = next(iter(report.diagnoses), None)
    if first is None or first.confidence is Confidence.POSSIBLE:
        return Grounds.TOO_WEAK
    return Grounds.SUSPECTED


def _left_waiting(report: Report) -> bool:
    """Whether a rank has ended, and all others only wait."""
    states = {rank.state for rank in report.ranks}
    return report.outcome is Outcome.CRASH and states == {"exited", "waiting"}


def suffices(report: Report, *, again: bool) -> bool:
    """Whether the job may be stopped; `again`: an earlier look found the same, and nothing has moved since."""
    found = grounds(report)
    return found is Grounds.PROVEN or (found is Grounds.SUSPECTED and again)
