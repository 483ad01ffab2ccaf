"""Ranks that create their store and get no connection."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
from tests.unit.diagnose.builders import TORCH, At, Doing, c10d, job

AT = At()
STORE = Site(f"{TORCH}/distributed/rendezvous.py", 190, "_create_c10d_store")


def _job(meeting: tuple[int, ...], size: int = 3) -> Evidence:
    evidence = job([Doing([AT.all("init_process_group", 4)]) for _ in range(size)])
    ranks = []
    for rank in evidence.ranks:
        frames = (STORE, c10d("init_process_group"), AT.line(4))
        stacks = Stacks(StackSource.PYSPY, (Thread(rank.worker.pid, "MainThread", frames),))
        ranks.append(replace(rank, stacks=stacks) if rank.rank in meeting else rank)
    return replace(evidence, ranks=tuple(ranks))


def test_all_are_there_and_nobody_meets() -> None:
    found = examine(_job((0, 1, 2))).diagnoses[0]
    assert (found.code, found.culprits.members, found.confidence.value) == ("DD262", (), "likely")
    assert found.locations[0].line == 4


def test_a_rank_that_is_elsewhere_is_another_cause() -> None:
    assert "DD262" not in [d.code for d in examine(_job((0, 1))).diagnoses]


def test_a_rank_that_is_not_seen_leaves_it_possible() -> None:
    evidence = _job((0, 1, 2))
    found = [d for d in examine(replace(evidence, ranks=evidence.ranks[:2])).diagnoses if d.code == "DD262"]
    assert [d.confidence.value for d in found] == ["possible"]
