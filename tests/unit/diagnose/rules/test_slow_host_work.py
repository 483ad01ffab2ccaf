"""A rank that works in Python while the others wait."""

from __future__ import annotations

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Outcome
from tests.unit.diagnose.builders import At, Doing, job

AT = At()


def test_working_rank_is_slow_and_named() -> None:
    busy = Doing([AT.all("barrier", 2)], blocked=False, stands=AT.line(5), state="R", cpu_share=0.97, moves=True)
    waits = Doing([AT.all("barrier", 2), AT.all("barrier", 4)])
    report = examine(job([busy, waits, waits]))
    found = report.diagnoses[0]
    assert (report.outcome, report.deadlock) == (Outcome.SLOW, Deadlock.NO)
    assert (found.code, found.culprits.members) == ("DD231", (0,))
    assert found.locations[0].line == 5
    assert found.confidence is not Confidence.CERTAIN


def test_sleeping_rank_is_not_called_slow() -> None:
    still = Doing([AT.all("barrier", 2)], blocked=False, stands=AT.line(5))
    waits = Doing([AT.all("barrier", 2), AT.all("barrier", 4)])
    report = examine(job([waits, still, waits]))
    found = report.diagnoses[0]
    assert (report.outcome, report.deadlock) == (Outcome.HANG, Deadlock.SUSPECTED)
    assert (found.code, found.culprits.members) == ("DD299", (1,))
    assert "idle in" in found.summary
