"""Causes that only the places of the ranks speak for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose import likeliest
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.diagnose.facts import digest
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site
from tests.unit.diagnose.builders import TORCH, At, Doing, job

AT = At()
ODD, OTHERS = RankSet.of([Rank(1)]), RankSet.of([Rank(0), Rank(2)])
GATHERS = Site(f"{TORCH}/distributed/fsdp/_fully_shard/_fsdp_collectives.py", 119, "foreach_all_gather")
CALLS = Site(f"{TORCH}/nn/modules/module.py", 1790, "Module._call_impl")
STATE = Site(f"{TORCH}/distributed/checkpoint/state_dict.py", 1100, "get_model_state_dict")
REDUCED = AT.all("all_reduce", 9)
STEP = [AT.next(1), AT.forward(2), AT.backward(3), AT.update(4)]


def _inside(evidence: Evidence, rank: int, *called: Site) -> Evidence:
    """With these frames above the line at which the rank stands."""
    ranks = []
    for seen in evidence.ranks:
        if seen.rank == rank and seen.stacks is not None:
            main = seen.stacks.threads[0]
            main = replace(main, frames=(main.frames[0], *called, *main.frames[1:]))
            seen = replace(seen, stacks=replace(seen.stacks, threads=(main, *seen.stacks.threads[1:])))
        ranks.append(seen)
    return replace(evidence, ranks=tuple(ranks))


def _code(evidence: Evidence) -> str:
    rule = likeliest.of_sides(digest(evidence), ODD, OTHERS)
    return rule.code if rule else ""


def _job(odd: Doing, usual: Doing) -> Evidence:
    return job([usual, odd, usual])


@pytest.mark.parametrize("peer", [0, None])
def test_a_message_of_the_other_side(peer: int | None) -> None:
    assert _code(_job(Doing([AT.recv(5, peer)]), Doing([REDUCED]))) == "DD218"


def test_a_message_within_a_side_says_nothing_of_the_other() -> None:
    receives, odd = Doing([AT.recv(5, 2)]), Doing([AT.all("gather", 7)])
    assert _code(job([receives, odd, Doing([REDUCED])])) == ""


@pytest.mark.parametrize("rank", [1, 2])
def test_a_sharded_module_that_runs_on_one_side(rank: int) -> None:
    gathers = Doing([AT.all("all_gather_into_tensor", 6)])
    evidence = job([gathers if one == rank else Doing([REDUCED]) for one in range(3)])
    assert _code(evidence) == ""
    assert _code(_inside(evidence, rank, GATHERS, CALLS)) == "DD210"


def test_a_sharded_module_that_runs_on_both_sides() -> None:
    evidence = job([Doing([AT.all("all_gather_into_tensor", line)]) for line in (6, 7, 6)])
    assert _code(_inside(_inside(evidence, 1, GATHERS, CALLS), 0, GATHERS, CALLS)) == ""


def test_a_state_that_one_side_gathers() -> None:
    evidence = _job(Doing([AT.all("all_gather_into_tensor", 6)]), Doing([REDUCED]))
    assert _code(_inside(evidence, 1, GATHERS, STATE)) == "DD204"


def test_barriers_at_different_lines() -> None:
    assert _code(_job(Doing([AT.all("barrier", 6)]), Doing([AT.all("barrier", 8)]))) == "DD212"
    assert _code(_job(Doing([AT.all("barrier", 6)]), Doing([REDUCED]))) == ""


def test_a_backward_that_the_odd_rank_has_left() -> None:
    evidence = _job(Doing([*STEP, *STEP, REDUCED]), Doing([*STEP, *STEP[:3]]))
    assert _code(evidence) == "DD209"
    assert _code(_job(Doing([*STEP, REDUCED]), Doing([*STEP, *STEP[:3]]))) == ""


def test_a_batch_that_the_odd_rank_has_taken_and_not_used() -> None:
    assert _code(_job(Doing([*STEP, *STEP[:1], *STEP, REDUCED]), Doing([*STEP, *STEP, *STEP[:3]]))) == "DD207"


@pytest.mark.parametrize("turned", [False, True])
def test_no_rank_counts_for_others_of_its_side_whatever_its_number(turned: bool) -> None:
    odd, trains, serves = Doing([*STEP, *STEP[:1], *STEP, REDUCED]), Doing([*STEP, *STEP, *STEP[:3]]), Doing([REDUCED])
    assert _code(job([serves, odd, trains] if turned else [trains, odd, serves])) == ""


def test_data_that_ended() -> None:
    assert _code(_job(Doing([*STEP, AT.stop(1), REDUCED]), Doing([*STEP, *STEP[:3]]))) == "DD201"
    assert _code(_job(Doing([*STEP, REDUCED]), Doing([*STEP, *STEP[:3]]))) == ""


@pytest.mark.parametrize("size", [2, 3])
def test_nobody_is_named_for_a_place_where_nobody_is_to_blame(size: int) -> None:
    """Of two ranks each may be the odd one."""
    receives, reduces = Doing([AT.recv(5, 0)]), Doing([REDUCED])
    found = examine(job([reduces, receives, reduces][:size])).diagnoses[0]
    assert (found.code == "DD299") == (size == 2)
    assert (likeliest.NAMED in found.why) == (size == 3)
    assert found.confidence is Confidence.POSSIBLE


def test_ranks_that_were_not_seen_may_stand_on_either_side() -> None:
    whole = job([Doing([REDUCED]), Doing([AT.recv(5, 0)]), Doing([REDUCED]), Doing([REDUCED])])
    seen = replace(whole, ranks=whole.ranks[:3])
    assert [one.code for one in examine(seen).diagnoses] == ["DD299"]
