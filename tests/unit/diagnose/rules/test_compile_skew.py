"""A rank that compiles while the others wait: known by the compiler's code in its stack, or by a busy compiler."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Outcome
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Child, Motion, ProcessState, ThreadState
from ddpdoctor.model.ranks import Role, Worker
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
from tests.unit.diagnose.builders import NOW, TORCH, At, Doing, job

AT = At()
CALL = AT.line(8, "train_step")
WAITING = Doing([AT.next(3), AT.all("barrier", 9)])
BUSY = Motion(1.0, 0.9, 0, Observed.YES, Observed.NO)
TRACING = (
    Site(f"{TORCH}/_dynamo/symbolic_convert.py", 700, "step"),
    Site(f"{TORCH}/_dynamo/convert_frame.py", 9, "_c"),
)
RUNNING = (Site("/tmp/torchinductor_me/ab/cab.py", 70, "call"), Site(f"{TORCH}/_dynamo/eval_frame.py", 9, "_fn"))


def among(*frames: Site, children: tuple[Child, ...] = (), motion: Motion = BUSY) -> Evidence:
    """Rank 1 is in these frames, called from the user's line; the others wait in a barrier."""
    evidence = job([WAITING, Doing([AT.next(3)], blocked=False, stands=CALL, state="R"), WAITING])
    seen = evidence.ranks[1]
    stacks = Stacks(StackSource.PYSPY, (Thread(seen.worker.pid, "MainThread", (*frames, CALL)),))
    changed = replace(seen, stacks=stacks, children=children, motion=motion)
    return replace(evidence, ranks=(evidence.ranks[0], changed, evidence.ranks[2]))


def child(name: str, share: float) -> Child:
    """A child process of that name."""
    state = ProcessState(NOW, "R", 1.0, 0, (ThreadState(7001, name, "R", "", 1.0),))
    return Child(Worker(7001, 1.0, Role.CHILD), state, None, Motion(1.0, share, 0, Observed.UNKNOWN, Observed.UNKNOWN))


def test_a_rank_that_traces_a_graph() -> None:
    report = examine(among(*TRACING))
    (found,) = report.diagnoses
    assert report.outcome is Outcome.SLOW
    assert (found.code, found.confidence, found.culprits.members) == ("DD240", Confidence.LIKELY, (1,))
    assert found.locations[0].line == 8
    assert "its stack is in step of symbolic_convert.py" in found.evidence[0]


@pytest.mark.parametrize("name", ["cc1plus", "nvcc", "ptxas"])
def test_a_rank_that_waits_for_its_compiler(name: str) -> None:
    waits = Site("/usr/lib/python3.11/subprocess.py", 1264, "wait")
    still = Motion(1.0, 0.0, 0, Observed.NO, Observed.NO)
    (found,) = examine(among(waits, children=(child(name, 0.95),), motion=still)).diagnoses
    assert (found.code, found.culprits.members) == ("DD240", (1,))
    assert f"({name}) uses 95% of a core" in found.evidence[0]


def test_code_that_was_compiled_before_is_work() -> None:
    assert [d.code for d in examine(among(*RUNNING)).diagnoses] == ["DD231"]


@pytest.mark.parametrize("helper", [child("cc1plus", 0.0), child("python", 0.95)])
def test_a_child_that_is_idle_or_something_else(helper: Child) -> None:
    assert [d.code for d in examine(among(AT.line(30, "tokenize"), children=(helper,))).diagnoses] == ["DD231"]


def test_a_compiler_that_stands_still_is_not_slow() -> None:
    still = Motion(1.0, 0.0, 0, Observed.NO, Observed.NO)
    assert "DD240" not in {d.code for d in examine(among(*TRACING, motion=still)).diagnoses}
