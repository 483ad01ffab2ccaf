"""Circles of receives, and receives that are no circle."""

from __future__ import annotations

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Deadlock
from tests.unit.diagnose.builders import At, Doing, job

AT = At()


@pytest.mark.parametrize("size", [2, 3, 5])
def test_all_receive_first(size: int) -> None:
    report = examine(job([Doing([AT.recv(4, (rank - 1) % size)]) for rank in range(size)]))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members, found.confidence) == ("DD218", (), Confidence.CERTAIN)
    assert report.deadlock is Deadlock.PROVEN


def test_two_of_three_at_different_lines() -> None:
    found = examine(job([Doing([AT.recv(4, 1)]), Doing([AT.recv(9, 0)]), Doing([AT.all("barrier", 12)])])).diagnoses[0]
    assert (found.code, found.confidence) == ("DD218", Confidence.LIKELY)


def test_a_sender_in_a_collective_can_have_any_reason() -> None:
    report = examine(job([Doing([AT.recv(4, 1)]), Doing([AT.all("barrier", 12)])]))
    assert "DD218" not in [d.code for d in report.diagnoses]
