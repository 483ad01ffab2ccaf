"""Pure. What may be said after a moment's look at a job that nobody watched: that something stands still takes time."""

from __future__ import annotations

import dataclasses

from ddpdoctor.model.diagnosis import Confidence, Deadlock, Outcome
from ddpdoctor.model.report import Report

#: seconds of looking from which on what stands still is a suspicion
PATIENCE = 5.0


def first_answer(report: Report, seconds: float) -> Report:
    """The report on a look of so many seconds: what was not proven in less than PATIENCE is no more than likely, and no
    deadlock is suspected yet."""
    if seconds >= PATIENCE or report.outcome is not Outcome.HANG or report.deadlock is Deadlock.PROVEN:
        return report
    return dataclasses.replace(
        report,
        deadlock=Deadlock.NO,
        diagnoses=tuple(
            dataclasses.replace(
                found,
                confidence=_at_most_likely(found.confidence),
                culprit_confidence=_at_most_likely(found.culprit_confidence),
            )
            for found in report.diagnoses
        ),
        notes=(*report.notes, f"a look of {seconds:.1g} s: what stands still may go on; `--wait 5s` tells"),
    )


def _at_most_likely(confidence: Confidence) -> Confidence:
    return Confidence.LIKELY if confidence is Confidence.CERTAIN else confidence
