"""Ranks that sleep in the kernel for something outside of the job: an answer, a lock, a reader."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Outcome
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.processes import Descriptor, Motion, ProcessState, ThreadState
from ddpdoctor.model.stacks import Rung, Site, Stacks, Thread
from tests.unit.diagnose.builders import NOW, TORCH, At, Doing, job

AT = At()
RECV = Site("/usr/lib/python3.11/socket.py", 706, "readinto")
FILE_BATON = Site(f"{TORCH}/utils/file_baton.py", 49, "wait")
SERVER = Descriptor(7, "socket", "tcp 10.0.0.9:443 ESTABLISHED")
PIPE = Descriptor(1, "pipe", "pipe:[77]")
LOCK = Descriptor(8, "file", "/cache/build.lock")
DATA = Descriptor(9, "file", "/data/part-3")


def asleep(
    *inside: Site, call: str = "", on: Descriptor | None = None, wchan: str = "", moves: bool = False
) -> Evidence:
    """Rank 1 is inside `call` at line 9, the others are in the backward that it does not come to."""
    usual = Doing([AT.next(3), AT.forward(4), AT.backward(5)])
    evidence = job([usual, Doing([AT.next(3)], blocked=False, stands=AT.line(9)), usual])
    seen = evidence.ranks[1]
    pid = seen.worker.pid
    thread = ThreadState(pid, "python", "S", wchan, 1.0, call, on.number if on else None)
    process = ProcessState(NOW, "S", 1.0, 0, (thread,), (SERVER, PIPE, LOCK, DATA))
    stacks = Stacks(Rung.PYSPY, (Thread(pid, "MainThread", (*inside, AT.line(9))),))
    motion = Motion(1.0, 0.9 if moves else 0.0, 0, moves, False)
    changed = replace(seen, stacks=stacks, process=process, motion=motion)
    return replace(evidence, ranks=(evidence.ranks[0], changed, evidence.ranks[2]))


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
        asleep(wchan="futex_do_wait"),
        asleep(call="recvfrom", on=SERVER, moves=True),
        asleep(RECV, moves=True),
    ],
)
def test_what_is_none_of_these(evidence: Evidence) -> None:
    codes = {diagnosis.code for diagnosis in examine(evidence).diagnoses}
    assert not codes & {"DD233", "DD238", "DD239"}


def test_a_rank_that_may_hold_the_lock_is_named() -> None:
    evidence = asleep(call="flock", on=LOCK)
    owner = evidence.ranks[0]
    opened = replace(owner, process=ProcessState(NOW, "S", 1.0, 0, (), (LOCK,)))
    found = examine(replace(evidence, ranks=(opened, *evidence.ranks[1:]))).diagnoses[0]
    assert found.code == "DD238"
    assert "Rank 0 has the file open" in found.why
    # THEN nobody is told to remove a lock that is in use
    assert "do not remove /cache/build.lock" in found.fix
    unheld = examine(evidence).diagnoses[0]
    assert "No other rank" in unheld.why


def test_a_lock_that_all_ranks_wait_for_has_no_culprit_among_them() -> None:
    one = asleep(FILE_BATON).ranks[1]
    waiting = Doing([AT.next(3)], blocked=False, stands=AT.line(9))
    evidence = job([waiting, waiting])
    ranks = tuple(
        replace(seen, stacks=one.stacks and replace(one.stacks, threads=_of(seen.worker.pid)), motion=one.motion)
        for seen in evidence.ranks
    )
    found = examine(replace(evidence, ranks=ranks)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD238", ())


def _of(pid: int) -> tuple[Thread, ...]:
    return (Thread(pid, "MainThread", (FILE_BATON, AT.line(9))),)
