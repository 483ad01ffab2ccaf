"""A rank that is stopped by a signal."""

from __future__ import annotations

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Deadlock, Outcome
from tests.unit.diagnose.builders import At, Doing, job

AT = At()


def test_stopped_process() -> None:
    stopped = Doing([AT.all("barrier", 2)], blocked=False, stands=AT.line(5), state="T")
    waits = Doing([AT.all("barrier", 2), AT.all("all_reduce", 4)])
    report = examine(job([waits, stopped, waits]))
    found = report.diagnoses[0]
    assert (report.outcome, report.deadlock) == (Outcome.HANG, Deadlock.SUSPECTED)
    assert (found.code, found.culprits.members) == ("DD244", (1,))
    assert "kill -CONT 1001" in found.fix
