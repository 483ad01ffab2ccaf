"""Ranks that sleep in the kernel for something outside the job: an answer, a lock, a reader."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Outcome
from ddpdoctor.model.evidence import Evidence, SourceFile
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Child, Descriptor, Holder, LockFile, Motion, ProcessState, Relation, ThreadState
from ddpdoctor.model.ranks import Role, Worker
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
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
    stacks = Stacks(StackSource.PYSPY, (Thread(pid, "MainThread", (*inside, AT.line(9))),))
    motion = Motion(1.0, 0.9 if moves else 0.0, 0, Observed.of(moves), Observed.NO)
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
        asleep(call="accept4", on=replace(SERVER, target="tcp 0.0.0.0:80 LISTEN")),
        asleep(wchan="futex_do_wait"),
        asleep(call="recvfrom", on=SERVER, moves=True),
        asleep(RECV, moves=True),
    ],
)
def test_what_is_none_of_these(evidence: Evidence) -> None:
    codes = {diagnosis.code for diagnosis in examine(evidence).diagnoses}
    assert not codes & {"DD233", "DD238", "DD239"}


def held(evidence: Evidence, *holders: Holder, unseen: str = "") -> Evidence:
    """The same, with what was found about who holds what rank 1 waits on."""
    seen = evidence.ranks[1]
    assert seen.process is not None
    threads = tuple(replace(thread, holders=holders, unseen=unseen) for thread in seen.process.threads)
    changed = replace(seen, process=replace(seen.process, threads=threads))
    return replace(evidence, ranks=(evidence.ranks[0], changed, evidence.ranks[2]))


OUTSIDER = Holder(99, Relation.OWNER, "python", ("python", "build.py"))


def test_a_rank_that_holds_the_lock_is_named() -> None:
    evidence = asleep(call="flock", on=LOCK)
    owner = Holder(evidence.ranks[0].worker.pid, Relation.OWNER, "python")
    found = examine(held(evidence, owner)).diagnoses[0]
    assert found.code == "DD238"
    assert f"held by rank 0 (process {owner.pid})" in found.why
    assert "which rank 0" in found.summary
    # THEN nobody is told to remove a lock that is in use
    assert "do not remove /cache/build.lock" in found.fix


def test_an_owner_outside_of_the_job_is_named() -> None:
    found = examine(held(asleep(call="flock", on=LOCK), OUTSIDER)).diagnoses[0]
    assert "process 99 (python build.py), outside the job holds" in found.summary


def test_an_owner_that_is_not_on_this_machine() -> None:
    assert "another machine" in examine(asleep(call="flock", on=LOCK)).diagnoses[0].why
    hidden = examine(held(asleep(call="flock", on=LOCK), unseen="9 are not ours to see")).diagnoses[0]
    assert "not known which process holds the lock: 9 are not ours to see" in hidden.why


def polled(exists: bool | None, *holders: Holder, modified: float = 50.0) -> Evidence:
    """Rank 1 sleeps for the baton /cache/lock; ranks start at second 100 since the epoch."""
    evidence = asleep(FILE_BATON, wchan="hrtimer_nanosleep")
    seen = evidence.ranks[1]
    assert seen.process is not None
    file = LockFile(
        "/cache/lock",
        Observed.UNKNOWN if exists is None else Observed.of(exists),
        modified if exists else None,
        holders,
    )
    changed = replace(seen, process=replace(seen.process, lock_files=(file,)))
    ranks = (evidence.ranks[0], changed, evidence.ranks[2])
    return replace(evidence, ranks=tuple(replace(r, worker=replace(r.worker, started=100.0)) for r in ranks))


@pytest.mark.parametrize(
    ("evidence", "why"),
    [
        (polled(True), "an earlier run left it"),
        (polled(True, modified=150.0), "created during this job"),
        (polled(True, replace(OUTSIDER, relation=Relation.OPENER)), "open in process 99 (python build.py)"),
        (polled(True, OUTSIDER), "held by process 99 (python build.py)"),
        (polled(False), "no longer exists"),
        (polled(None), "is not known whether the file still exists"),
    ],
)
def test_a_lock_file_that_is_polled_for(evidence: Evidence, why: str) -> None:
    found = examine(evidence).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD238", (1,))
    assert "the lock file /cache/lock" in found.summary
    assert why in found.why


LOOP = """import time
def claim(lock):
    pass




    while lock.exists():
        time.sleep(1)   # line 9
"""
MARKER = LOOP.replace("while lock", "while not lock")


def in_code(text: str, evidence: Evidence) -> Evidence:
    return replace(evidence, code={AT.file: SourceFile(AT.file, text)})


def test_a_loop_of_the_users_own() -> None:
    found = examine(in_code(LOOP, asleep(wchan="hrtimer_nanosleep"))).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD238", (1,))
    assert "`lock.exists()`" in found.summary
    # THEN that the file's name and the lock's owner were not seen is said
    assert "Neither the file's name nor" in found.why


def test_a_file_that_has_to_come_is_no_lock() -> None:
    found = examine(in_code(MARKER, asleep(wchan="hrtimer_nanosleep"))).diagnoses[0]
    assert found.code == "DD299"
    assert "until `lock.exists()` finds the file" in found.why


THREADS = """def count(self):






    pass

    with self.lock:     # line 10
        self.n += 1

def write(self):
    with self.lock:
        sleep(9)        # line 15
"""


def threads(*, python: bool = True) -> Evidence:
    """Rank 1's main thread wants a lock that thread 'tally' is inside of; of Python, or a mutex of the C library."""
    evidence = asleep(call="futex", wchan="futex_do_wait")
    seen = evidence.ranks[1]
    pid = seen.worker.pid
    main = Thread(pid, "MainThread", (AT.line(10 if python else 7),))
    other = Thread(pid + 1, "tally", (AT.line(15, "write"),))
    changed = replace(seen, stacks=Stacks(StackSource.PYSPY, (main, other)))
    evidence = in_code(THREADS, replace(evidence, ranks=(evidence.ranks[0], changed, evidence.ranks[2])))
    return evidence if python else held(evidence, Holder(pid, Relation.OWNER, "python", (), pid + 1))


@pytest.mark.parametrize("python", [True, False])
def test_a_lock_between_the_threads_of_a_rank(python: bool) -> None:
    found = examine(threads(python=python)).diagnoses[0]
    assert (found.code, found.culprits.members, found.confidence) == ("DD238", (1,), Confidence.LIKELY)
    assert "which thread tally of it holds" in found.summary
    assert [location.line for location in found.locations[:2]] == [10 if python else 7, 15]


def test_a_lock_that_no_thread_is_inside_of() -> None:
    evidence = threads()
    seen = evidence.ranks[1]
    assert seen.stacks is not None
    alone = replace(seen, stacks=replace(seen.stacks, threads=seen.stacks.threads[:1]))
    found = examine(replace(evidence, ranks=(evidence.ranks[0], alone, evidence.ranks[2]))).diagnoses[0]
    assert found.code == "DD238"
    assert "No other thread of the process" in found.why


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


def test_a_server_of_this_machine_is_named() -> None:
    server = Holder(99, Relation.PEER, "python", ("python", "serve.py"))
    found = examine(held(asleep(call="recvfrom", on=SERVER), server)).diagnoses[0]
    assert found.code == "DD233"
    assert "The server is process 99 (python serve.py), outside the job" in found.why


@pytest.mark.parametrize("by_process", [True, False])
def test_a_connection_between_ranks_is_no_network_client(by_process: bool) -> None:
    ours = replace(SERVER, target="tcp 10.0.0.1:5000 ESTABLISHED", local="10.0.0.2:41000")
    theirs = Descriptor(4, "socket", "tcp 10.0.0.2:41000 ESTABLISHED", "10.0.0.1:5000")
    evidence = asleep(call="recvfrom", on=ours)
    seen, other = evidence.ranks[1], evidence.ranks[0]
    assert seen.process is not None
    changed = replace(seen, process=replace(seen.process, descriptors=(ours,)))
    opened = other if by_process else replace(other, process=ProcessState(NOW, "S", 1.0, 0, (), (theirs,)))
    evidence = replace(evidence, ranks=(opened, changed, evidence.ranks[2]))
    if by_process:
        evidence = held(evidence, Holder(other.worker.pid, Relation.PEER, "python"))
    found = examine(evidence).diagnoses
    assert "DD233" not in {one.code for one in found}
    assert "waits for rank 0 over one of the program's own connections" in found[0].why


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
