"""What a moment's look may say of a job that nobody watched."""

from __future__ import annotations

import dataclasses

import pytest

from ddpdoctor.model.diagnosis import Confidence, Deadlock
from ddpdoctor.observe.first_answer import PATIENCE, first_answer
from tests.golden.reports import hang_certain, healthy, slow

SUSPECTED = dataclasses.replace(hang_certain(), deadlock=Deadlock.SUSPECTED)


def test_what_stands_still_for_a_moment_is_no_suspected_deadlock() -> None:
    said = first_answer(SUSPECTED, 0.8)
    assert said.deadlock is Deadlock.NO
    assert {one.confidence for one in said.diagnoses} == {Confidence.LIKELY}
    assert Confidence.CERTAIN not in {one.culprit_confidence for one in said.diagnoses}
    assert "--wait 5s" in said.notes[-1]


def test_what_is_possible_stays_so() -> None:
    weak = tuple(dataclasses.replace(one, confidence=Confidence.POSSIBLE) for one in SUSPECTED.diagnoses)
    said = first_answer(dataclasses.replace(SUSPECTED, diagnoses=weak), 0.8)
    assert {one.confidence for one in said.diagnoses} == {Confidence.POSSIBLE}


@pytest.mark.parametrize("report", [hang_certain(), slow(), healthy()], ids=["proven", "slow", "healthy"])
def test_a_proof_needs_no_time_and_what_is_no_hang_is_not_changed(report: object) -> None:
    assert first_answer(report, 0.8) is report  # type: ignore[arg-type]


def test_a_long_look_may_suspect() -> None:
    assert first_answer(SUSPECTED, PATIENCE) is SUSPECTED
