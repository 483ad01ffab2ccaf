"""Helpers for tests: the first diagnosis of a report, for jobs of several sizes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Deadlock, Diagnosis, Outcome
from ddpdoctor.model.evidence import Evidence
from tests.unit.diagnose.builders import At, Doing, job

#: for tests of jobs with one odd rank, anywhere
everywhere = pytest.mark.parametrize(("size", "odd"), [(size, odd) for size in (2, 3, 4, 6) for odd in range(size)])


def first(evidence: Evidence) -> Diagnosis:
    """The first diagnosis of a hang that is proven."""
    report = examine(evidence)
    assert report.outcome is Outcome.HANG
    assert report.deadlock is Deadlock.PROVEN
    return report.diagnoses[0]


def verdict(source: str, ranks: Sequence[Doing], outcome: Outcome = Outcome.HANG) -> Diagnosis:
    """The first diagnosis of a job that runs this source as its only file."""
    report = examine(job(ranks, code={At().file: source}))
    assert report.outcome is outcome
    return report.diagnoses[0]


def one_odd(odd: Doing, usual: Doing, *, at: int = 1, size: int = 3) -> list[Doing]:
    return [odd if rank == at else usual for rank in range(size)]
