"""Groups whose collectives the ranks enter in a different order."""

from __future__ import annotations

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence
from tests.unit.diagnose.builders import At, Doing, job

AT = At()


@pytest.mark.parametrize("odd", range(3))
def test_groups_in_another_order(odd: int) -> None:
    groups = {"g": range(3), "d": range(3)}
    rounds = [AT.all("all_reduce", 9, group="g"), AT.all("all_reduce", 9, group="d")]
    usual = Doing([*rounds, AT.all("all_reduce", 9, group="g")])
    swapped = Doing([*rounds, AT.all("all_reduce", 9, group="d")])
    report = examine(job([swapped if rank == odd else usual for rank in range(3)], groups=groups))
    found = report.diagnoses[0]
    assert (found.code, found.confidence) == ("DD220", Confidence.CERTAIN)
    assert found.culprits.members == (odd,)


def test_cycle_through_many_groups_blames_nobody() -> None:
    groups = {"t0": (0, 1), "t1": (2, 3), "d0": (0, 2), "d1": (1, 3)}
    names = ["t0", "d1", "d0", "t1"]
    report = examine(job([Doing([AT.all("all_reduce", 3, group=name)]) for name in names], groups=groups))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD220", ())
    assert "4 process groups" in found.summary
