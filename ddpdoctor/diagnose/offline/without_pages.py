"""Diagnoses of a hang from recorder dumps and stacks, if no rank has a page and no history can be compared."""

from __future__ import annotations

from collections.abc import Set

from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.offline import unanswered_pairs
from ddpdoctor.diagnose.offline.recorder_dumps.report import recorded_beside
from ddpdoctor.model.diagnosis import Diagnosis, Outcome
from ddpdoctor.model.evidence import Source


def diagnoses(facts: Facts, missing: Set[Source]) -> tuple[Diagnosis, ...]:
    """The dumps' own diagnoses; if they have none, what the stacks show of sends and receives."""
    if facts.outcome is not Outcome.HANG or Source.PAGES not in missing:
        return ()
    recorded = () if Source.RECORDER in missing else recorded_beside(facts.evidence)
    return recorded or tuple(unanswered_pairs.unanswered(facts))
