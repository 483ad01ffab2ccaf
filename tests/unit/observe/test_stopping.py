"""A job is stopped on a proof, or on what was found twice; never on what is only possible."""

from dataclasses import replace

import pytest

from ddpdoctor.model.diagnosis import Confidence, Deadlock, Outcome
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.report import Report
from ddpdoctor.observe.stopping import Grounds, grounds, suffices
from tests.golden.reports import REPORTS

CERTAIN = REPORTS["hang-certain"]


def said(outcome: Outcome, deadlock: Deadlock, confidence: Confidence | None) -> Report:
    first = () if confidence is None else (replace(CERTAIN.diagnoses[0], confidence=confidence),)
    return replace(CERTAIN, outcome=outcome, deadlock=deadlock, diagnoses=first)


@pytest.mark.parametrize("confidence", [*Confidence, None])
def test_a_proof_suffices_at_once(confidence: Confidence | None) -> None:
    report = said(Outcome.HANG, Deadlock.PROVEN, confidence)
    assert grounds(report) is Grounds.PROVEN
    assert suffices(report, again=False)


@pytest.mark.parametrize("confidence", [Confidence.CERTAIN, Confidence.LIKELY])
def test_a_suspicion_must_be_found_twice(confidence: Confidence) -> None:
    report = said(Outcome.HANG, Deadlock.SUSPECTED, confidence)
    assert grounds(report) is Grounds.SUSPECTED
    assert not suffices(report, again=False)
    assert suffices(report, again=True)


@pytest.mark.parametrize("confidence", [Confidence.POSSIBLE, None])
def test_what_is_only_possible_never_suffices(confidence: Confidence | None) -> None:
    report = said(Outcome.HANG, Deadlock.SUSPECTED, confidence)
    assert grounds(report) is Grounds.TOO_WEAK
    assert not suffices(report, again=True)


@pytest.mark.parametrize("outcome", [Outcome.SLOW, Outcome.CRASH, Outcome.HEALTHY])
def test_only_a_hang_is_stopped(outcome: Outcome) -> None:
    report = said(outcome, Deadlock.NO, Confidence.CERTAIN)
    assert grounds(report) is Grounds.NO_HANG
    assert not suffices(report, again=True)


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (("exited", "waiting"), Grounds.SUSPECTED),
        (("exited", "working", "waiting"), Grounds.NO_HANG),
        (("exited", "exited"), Grounds.NO_HANG),
        (("waiting", "waiting"), Grounds.NO_HANG),
    ],
)
def test_ranks_that_wait_for_one_that_is_gone_are_stopped_after_a_second_look(
    states: tuple[str, ...], expected: Grounds
) -> None:
    ranks = tuple(replace(CERTAIN.ranks[0], rank=Rank(rank), state=state) for rank, state in enumerate(states))
    report = replace(said(Outcome.CRASH, Deadlock.NO, Confidence.CERTAIN), ranks=ranks)
    assert grounds(report) is expected
    assert not suffices(report, again=False)


@pytest.mark.parametrize("deadlock", [Deadlock.PROVEN, Deadlock.SUSPECTED])
def test_what_was_seen_of_a_part_of_the_job_never_suffices(deadlock: Deadlock) -> None:
    report = said(Outcome.HANG, deadlock, Confidence.CERTAIN)
    unseen = replace(report.ranks[0], rank=Rank(len(report.ranks)), state="unseen")
    report = replace(report, ranks=(*report.ranks, unseen))
    assert grounds(report) is Grounds.PART
    assert not suffices(report, again=True)
