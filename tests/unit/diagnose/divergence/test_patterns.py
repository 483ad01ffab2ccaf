"""Differences between histories that are no divergence."""

from __future__ import annotations

from ddpdoctor.model.diagnosis import Confidence
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import Doing, job
from tests.unit.diagnose.stories import AT, in_backward
from tests.unit.diagnose.verdicts import first


def test_rank_local_logging_and_evaluation_are_no_cause() -> None:
    # GIVEN rank 0 that also reads a validation loader, without collectives, in every round
    extra = [AT.next(40), AT.next(40), AT.stop(40)]
    busy = [act for _ in range(3) for act in [*AT.step(10), *extra]]
    odd = Doing([*AT.step(10), *AT.step(10), *AT.step(10), AT.stop(10), AT.all("barrier", 21)], callers=(stories.MAIN,))
    rank0 = Doing([*busy, *AT.step(10)[:3]], callers=(stories.MAIN,))
    found = first(job([rank0, odd, in_backward(4)], code=stories.CODE))
    assert found.code == "DD201"
    assert found.culprits.members == (1,)
    assert found.confidence is Confidence.CERTAIN
