"""Healthy, slow, hang or crash."""

from __future__ import annotations

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Outcome
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import At, Doing, job

AT = At()


def test_all_ranks_in_one_long_step_are_healthy() -> None:
    busy = Doing([AT.all("barrier", 2)], blocked=False, stands=AT.line(5), state="R", cpu_share=1.0, moves=True)
    report = examine(job([busy, busy]))
    assert (report.outcome, report.diagnoses) == (Outcome.HEALTHY, ())


def test_histories_that_part_under_a_working_rank_accuse_nobody() -> None:
    # GIVEN a rank that ran out of data and waits (as under Join), and one that still works on its next batch
    busy = Doing(stories.epoch(4), blocked=False, stands=AT.line(11), state="R", cpu_share=1.0, moves=True)
    report = examine(job([stories.ran_out(), busy], code=stories.CODE))
    assert report.outcome is Outcome.SLOW
    assert {diagnosis.code for diagnosis in report.diagnoses} == {"DD231"}
