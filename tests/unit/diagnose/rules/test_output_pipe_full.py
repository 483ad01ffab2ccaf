"""Ranks, and children of theirs, that cannot write."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.processes import Child, Descriptor, Holder, ProcessState, Relation, ThreadState
from ddpdoctor.model.ranks import Role, Worker
from tests.unit.diagnose.builders import NOW
from tests.unit.diagnose.sleeping import PIPE, asleep, held


def test_the_reader_of_a_full_pipe_is_named() -> None:
    evidence = asleep(call="write", on=PIPE, wchan="pipe_write")
    reader = Holder(1, Relation.READER, "torchrun", ("torchrun", "train.py"))
    found = examine(held(evidence, reader)).diagnoses[0]
    assert found.code == "DD239"
    assert "open in process 1 (torchrun train.py), outside the job" in found.why
    own = Holder(evidence.ranks[1].worker.pid, Relation.READER, "python")
    assert "Only rank 1 itself" in examine(held(evidence, own)).diagnoses[0].why
    hidden = examine(held(evidence, unseen="9 are not ours to see")).diagnoses[0]
    assert any("9 are not ours to see" in line for line in hidden.evidence)


@pytest.mark.parametrize("reader", [None, "rank", "other"])
def test_a_child_that_cannot_write_and_is_waited_for(reader: str | None) -> None:
    evidence = held(asleep(call="wait4"), Holder(99, Relation.AWAITED, "python", ("python", "convert.py")))
    seen = evidence.ranks[1]
    pid = seen.worker.pid if reader == "rank" else 1
    readers = (Holder(pid, Relation.READER, "python"),) if reader else ()
    state = ThreadState(99, "python", "S", "pipe_write", 0.1, "write", 1, "", readers)
    child = Child(Worker(99, 1.0, Role.CHILD), ProcessState(NOW, "S", 0.1, 0, (state,), ()), None, None)
    ranks = (evidence.ranks[0], replace(seen, children=(child,)), evidence.ranks[2])
    found = examine(replace(evidence, ranks=ranks)).diagnoses[0]
    # a pipe that another process should read is not what the rank has forgotten
    assert (found.code == "DD239") is (reader != "other")
    assert found.culprits.members == (1,)


@pytest.mark.parametrize(("full", "told"), [("pipe:[78]", True), (PIPE.target, False)])
def test_a_child_that_cannot_write_elsewhere_before_it_answers(full: str, *, told: bool) -> None:
    """The rank reads one pipe of the child, and another one is full; what is read is never full for long."""
    evidence = held(asleep(call="read", on=PIPE), Holder(99, Relation.WRITER, "python", ("python", "-c", "scan()")))
    seen = evidence.ranks[1]
    readers = (Holder(seen.worker.pid, Relation.READER, "python"),)
    state = ThreadState(99, "python", "S", "anon_pipe_write", 0.1, "write", 2, "", readers)
    process = ProcessState(NOW, "S", 0.1, 0, (state,), (Descriptor(2, "pipe", full),))
    child = Child(Worker(99, 1.0, Role.CHILD), process, None, None)
    ranks = (evidence.ranks[0], replace(seen, children=(child,)), evidence.ranks[2])
    found = examine(replace(evidence, ranks=ranks)).diagnoses[0]
    assert (found.code == "DD239") is told
    assert found.culprits.members == (1,)
