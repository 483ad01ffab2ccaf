"""Cycles of receives, and receives that form no cycle."""

from __future__ import annotations

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.collectives import Kind
from ddpdoctor.model.diagnosis import Confidence, Deadlock
from ddpdoctor.model.progress import EventKind
from tests.unit.diagnose.builders import Act, At, Doing, job

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


def sent(peer: int) -> Act:
    return Act(EventKind.CALL, AT.line(9), "send", Kind.SEND, peer=peer)


def test_one_micro_batch_more_than_the_peer_sends() -> None:
    # GIVEN stages that reckon with three and with two micro-batches
    report = examine(job([Doing([sent(1), sent(1), AT.all("barrier", 12)]), Doing([AT.recv(4, 0)] * 3)]))
    found = report.diagnoses[0]
    # THEN the pair is told, and nobody is called guilty
    assert (found.code, found.confidence, found.culprits.members) == ("DD218", Confidence.LIKELY, ())
    assert "rank 1 receives for the 3rd time from rank 0, which has sent 2 times" in found.summary


def test_worker_that_sent_less_than_the_others_in_its_part() -> None:
    served = [AT.recv(4, 1), AT.recv(4, 2)]
    ranks = [
        Doing([*served, *served, AT.recv(4, 1)]),
        Doing([sent(0), sent(0), AT.all("barrier", 12)]),
        Doing([sent(0), sent(0), sent(0)]),
    ]
    found = examine(job(ranks)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD218", (1,))
