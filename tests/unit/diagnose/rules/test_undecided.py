"""Undecided cases, and how they are worded."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Deadlock, Outcome
from ddpdoctor.model.ranks import Rank
from tests.unit.diagnose.builders import At, Doing, job, raised
from tests.unit.diagnose.stories import among, saves_alone

AT = At()


def test_two_ranks_without_a_majority_are_undecided() -> None:
    report = examine(job([Doing([AT.all("barrier", 3)]), Doing([AT.broadcast(8, 0)])]))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD299", ())
    assert {location.line for location in found.locations} == {3, 8}


def test_only_consequences_of_a_rank_that_is_not_seen() -> None:
    evidence = job([Doing([], blocked=False, exit_status=-15), Doing([], blocked=False)])
    lost = raised("RuntimeError", "Connection closed by peer", 10.0, AT.line(3))
    victim = job([Doing([], blocked=False, raised=lost, exit_status=1)])
    ranks = (replace(victim.ranks[0], rank=Rank(1)),)
    report = examine(replace(evidence, ranks=ranks, world_size=3))
    found = report.diagnoses[0]
    assert report.outcome is Outcome.CRASH
    assert (found.code, found.culprits.members) == ("DD299", ())


def test_who_was_not_seen_may_be_the_one_that_is_missing() -> None:
    waiting = Doing([AT.all("all_reduce", 3)])
    report = examine(replace(job([waiting, waiting], code={AT.file: "\n\nx\n"}), world_size=4))
    first = report.diagnoses[0]
    assert (first.code, first.culprits.members) == ("DD299", ())
    assert "nothing is known about ranks 2-3" in first.summary
    assert "agrees with itself" not in first.why
    assert "every node" in first.fix


@pytest.mark.parametrize("seen", [(0, 1), (0, 1, 3)])
def test_a_local_minority_is_blamed_for_nothing_while_others_are_unseen(seen: tuple[int, ...]) -> None:
    whole = among(4, 1, saves_alone)
    assert examine(whole).diagnoses[0].culprits.members == (1,)
    report = examine(replace(whole, ranks=tuple(one for one in whole.ranks if one.rank in seen)))
    first = report.diagnoses[0]
    assert (report.outcome, report.deadlock) == (Outcome.HANG, Deadlock.NO)
    assert [(d.code, d.culprits.members) for d in report.diagnoses] == [("DD299", ())]
    assert report.not_considered["DD203"].endswith("not seen")
    assert not re.search(r"\b(only|all|alone)\b", first.summary.lower())
    assert "nothing is known about" in first.summary


def test_a_cycle_is_proven_whoever_else_there_is() -> None:
    """Ranks 0 and 1 receive from each other: what others do changes nothing."""
    pair = job([Doing([AT.recv(3, 1)]), Doing([AT.recv(3, 0)])])
    assert examine(replace(pair, world_size=4)).deadlock is Deadlock.PROVEN
