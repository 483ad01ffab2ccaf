"""All ranks in one operation, none missing."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Deadlock
from tests.unit.diagnose.builders import At, Doing, job

AT = At()


IN_STEP = Doing([AT.next(3), AT.forward(4), AT.backward(5)])


def test_all_in_the_same_operation_and_nobody_missing() -> None:
    report = examine(job([IN_STEP, IN_STEP, IN_STEP]))
    found = report.diagnoses[0]
    assert report.deadlock is Deadlock.SUSPECTED
    # THEN no rank is to blame
    assert (found.code, found.culprits.members) == ("DD271", ())


def test_one_that_moves_or_is_not_seen_is_no_transport_stall() -> None:
    evidence = job([IN_STEP, IN_STEP, IN_STEP])
    ranks = (*evidence.ranks[:2], replace(evidence.ranks[2], recorder=None))
    codes = {d.code for d in examine(replace(evidence, ranks=ranks)).diagnoses}
    assert "DD271" not in codes
    late = Doing([AT.next(3)], blocked=False, stands=AT.line(3))
    assert "DD271" not in {d.code for d in examine(job([IN_STEP, late, IN_STEP])).diagnoses}
