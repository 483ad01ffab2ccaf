"""Ranks that create their store and get no connection."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Outcome
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Motion, ProcessState, ThreadState
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
from tests.unit.diagnose.builders import NOW, TORCH, At, Doing, c10d, job

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


MEETS = """\
def meet(address):
    return dist.TCPStore(address.host, address.port, 3, rank == 0)
"""


@pytest.mark.parametrize(("text", "code"), [(MEETS, "DD262"), (MEETS.replace("TCPStore", "connect"), "")])
def test_a_store_that_the_program_makes_itself(text: str, code: str) -> None:
    """It connects again and again with a short sleep in between, and no rank has come to init_process_group."""
    site = Site(AT.file, 2, "meet")
    evidence = job([Doing([], blocked=False, stands=site) for _ in range(3)], code={AT.file: text})
    ranks = []
    for rank in evidence.ranks:
        pid = rank.worker.pid
        states = (ThreadState(pid, "python", "S", "hrtimer_nanosleep", 1.0),)
        process = ProcessState(NOW, "S", 1.0, 0, states)
        motion = Motion(1.0, 0.0, 0, Observed.NO, Observed.NO)
        stacks = Stacks(StackSource.PYSPY, (Thread(pid, "MainThread", (site,)),))
        ranks.append(replace(rank, page=None, stacks=stacks, process=process, motion=motion))
    report = examine(replace(evidence, ranks=tuple(ranks)))
    assert (report.outcome is Outcome.HANG) is bool(code)
    assert [one.code for one in report.diagnoses[:1]] == ([code] if code else [])
