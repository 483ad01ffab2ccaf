"""Ranks that ended with status 0 while others wait."""

from __future__ import annotations

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Outcome
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import At, Doing, job

AT = At()


def test_rank_that_finished_while_others_wait() -> None:
    gone = Doing([AT.all("barrier", 2)], exit_status=0)
    waits = Doing([AT.all("barrier", 2), AT.all("new_group", 4)])
    report = examine(job([waits, waits, gone]))
    found = report.diagnoses[0]
    assert (found.code, found.confidence) == ("DD252", Confidence.CERTAIN)
    assert found.culprits.members == (2,)
    assert found.locations[0].line == 4
    assert (report.outcome, report.deadlock) == (Outcome.HANG, Deadlock.PROVEN)


def test_rank_that_finished_in_the_middle_of_training_may_have_run_out_of_data() -> None:
    gone = Doing(stories.epoch(3), exit_status=0, blocked=False)
    report = examine(job([stories.in_backward(4), stories.in_backward(4), gone], code=stories.CODE))
    found = next(diagnosis for diagnosis in report.diagnoses if diagnosis.code == "DD252")
    assert found.confidence is Confidence.LIKELY
