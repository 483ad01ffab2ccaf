"""Collectives in a loop under Join that Join does not replay."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
from tests.unit.diagnose.builders import TORCH, At, Doing, job

AT = At()
PROGRAM = """\
def train(model, loader):
    with {context}:
        for batch in loader:
            model(batch).sum().backward()
            dist.barrier()
"""
JOIN = Site(f"{TORCH}/distributed/algorithms/join.py", 286, "Join._get_num_nonjoined_procs")


def _job(context: str, busy: int) -> Evidence:
    code = {AT.file: PROGRAM.format(context=context)}
    both = [AT.forward(4), AT.backward(4), AT.all("barrier", 5)]
    joined = Doing([*both, AT.all("all_reduce", 2)])
    evidence = job([Doing([*both, *both]) if rank == busy else joined for rank in range(3)], code=code)
    ranks = []
    for rank in evidence.ranks:
        assert rank.stacks is not None
        main = rank.stacks.threads[0]
        frames = main.frames if rank.rank == busy else (main.frames[0], JOIN, *main.frames[1:])
        ranks.append(replace(rank, stacks=Stacks(StackSource.PYSPY, (Thread(main.os_id, main.name, frames),))))
    return replace(evidence, ranks=tuple(ranks))


@pytest.mark.parametrize("busy", range(3))
@pytest.mark.parametrize("context", ["Join([model])", "model.join()"])
def test_the_line_that_is_not_replayed(context: str, busy: int) -> None:
    found = examine(_job(context, busy)).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD221", (busy,), 5)


def test_outside_the_block_it_is_only_possible() -> None:
    found = [d for d in examine(_job("profiler()", 0)).diagnoses if d.code == "DD221"]
    assert [d.confidence.value for d in found] == ["possible"]
