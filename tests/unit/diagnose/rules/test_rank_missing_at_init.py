"""A rank that has not reached the rendezvous."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Outcome
from tests.unit.diagnose.builders import At, Doing, job

AT = At()


def test_a_rank_that_has_not_come_to_the_start() -> None:
    arriving = Doing([AT.all("init_process_group", 8)])
    evidence = job([arriving, Doing([], blocked=False, stands=AT.line(4)), arriving])
    ranks = [
        replace(seen, page=None, recorder=None) if seen.rank == 1 else replace(seen, recorder=None)
        for seen in evidence.ranks
    ]
    report = examine(replace(evidence, ranks=tuple(ranks)))
    assert report.outcome is Outcome.HANG
    first = report.diagnoses[0]
    assert (first.code, first.culprits.members, first.confidence) == ("DD261", (1,), Confidence.LIKELY)


def test_a_rank_of_which_nothing_is_seen_may_be_on_its_way() -> None:
    arriving = Doing([AT.all("init_process_group", 8)])
    evidence = job([arriving, Doing([], blocked=False, stands=AT.line(4)), arriving])
    ranks = [
        replace(seen, page=None, recorder=None, stacks=None) if seen.rank == 1 else replace(seen, recorder=None)
        for seen in evidence.ranks
    ]
    first = examine(replace(evidence, ranks=tuple(ranks))).diagnoses[0]
    assert (first.code, first.culprits.members, first.confidence) == ("DD261", (1,), Confidence.POSSIBLE)
