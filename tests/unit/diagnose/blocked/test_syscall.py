"""System calls in which a rank sleeps, and what does not count as one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Outcome
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.processes import Child, Holder, Relation, ThreadState
from ddpdoctor.model.ranks import Role, Worker
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
from tests.unit.diagnose.sleeping import AT, DATA, FILE_BATON, LOCK, PIPE, RECV, SERVER, asleep, held


@pytest.mark.parametrize(
    ("evidence", "code", "named"),
    [
        (asleep(call="recvfrom", on=SERVER), "DD233", "10.0.0.9:443"),
        (asleep(RECV, call="read", on=SERVER), "DD233", "10.0.0.9:443"),
        (asleep(RECV), "DD233", "waits for the network"),
        (asleep(Site("/env/lib/python3.11/site-packages/requests/adapters.py", 9, "send"), RECV), "DD233", "network"),
        (asleep(FILE_BATON, call="", wchan="hrtimer_nanosleep"), "DD238", "lock file at"),
        (asleep(call="flock", on=LOCK), "DD238", "/cache/build.lock"),
        (asleep(call="write", on=PIPE, wchan="pipe_write"), "DD239", "standard output"),
        (asleep(wchan="anon_pipe_write"), "DD239", "a pipe"),
    ],
)
def test_what_it_sleeps_in_is_named(evidence: Evidence, code: str, named: str) -> None:
    report = examine(evidence)
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == (code, (1,), 9)
    assert named in found.summary
    # THEN it may go on at any moment: never certain, never proven
    assert found.confidence is Confidence.LIKELY
    assert (report.outcome, report.deadlock) == (Outcome.HANG, Deadlock.SUSPECTED)


@pytest.mark.parametrize(
    "evidence",
    [
        asleep(call="read", on=DATA),
        asleep(call="accept4", on=replace(SERVER, target="tcp 0.0.0.0:80 LISTEN")),
        asleep(wchan="futex_do_wait"),
        asleep(call="recvfrom", on=SERVER, moves=True),
        asleep(RECV, moves=True),
    ],
)
def test_what_is_none_of_these(evidence: Evidence) -> None:
    codes = {diagnosis.code for diagnosis in examine(evidence).diagnoses}
    assert not codes & {"DD233", "DD238", "DD239"}


def test_a_child_that_does_not_end_is_named_with_its_line() -> None:
    evidence = held(asleep(call="wait4"), Holder(99, Relation.AWAITED, "python", ("python", "prepare.py")))
    seen = evidence.ranks[1]
    stacks = Stacks(StackSource.PYSPY, (Thread(99, "MainThread", (AT.line(33, "prepare"),)),))
    child = Child(Worker(99, 1.0, Role.CHILD), None, stacks, None)
    ranks = (evidence.ranks[0], replace(seen, children=(child,)), evidence.ranks[2])
    found = examine(replace(evidence, ranks=ranks)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD299", (1,))
    assert "the exit of process 99 (python prepare.py), a child of rank 1" in found.why
    assert "is at train.py:33" in found.why


def test_a_thread_that_another_one_does_not_wake() -> None:
    queue = Site("/usr/lib/python3.11/queue.py", 171, "get"), Site("/usr/lib/python3.11/threading.py", 320, "wait")
    evidence = asleep(*reversed(queue), call="futex", wchan="futex_do_wait")
    seen = evidence.ranks[1]
    pid = seen.worker.pid
    assert seen.process is not None
    assert seen.stacks is not None
    feeding = Thread(pid + 1, "prefetch", (AT.line(21, "read"),))
    reading = ThreadState(pid + 1, "python", "S", "", 0.0, "read", DATA.number)
    process = replace(seen.process, threads=(*seen.process.threads, reading))
    changed = replace(seen, process=process, stacks=replace(seen.stacks, threads=(*seen.stacks.threads, feeding)))
    found = examine(replace(evidence, ranks=(evidence.ranks[0], changed, evidence.ranks[2]))).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD299", (1,))
    assert "in get. Its other threads: prefetch at train.py:21 in read on /data/part-3." in found.why
    alone = examine(evidence).diagnoses[0]
    assert "no other thread is in code of the program" in alone.why
