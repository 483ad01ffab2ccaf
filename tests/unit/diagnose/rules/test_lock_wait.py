"""Ranks that wait for a lock, and who holds it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Holder, LockFile, Relation, ThreadState
from ddpdoctor.model.stacks import Site, Thread
from tests.unit.diagnose.builders import Doing, job
from tests.unit.diagnose.sleeping import AT, FILE_BATON, LOCK, asleep, held, in_code, threads

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


MIXED = """def mix(self):






    pass
    for mix in loader:
        with self.locks[lead]:
            with self.locks[answer]:
                read()
"""
GET = Site("/usr/lib/python3.11/queue.py", 171, "get")


def mixing(*lines: int, wchan: str = "futex_do_wait") -> Evidence:
    """Rank 1's main thread waits in a queue, and others of its threads sleep at these lines, in a lock."""
    evidence = in_code(MIXED, asleep(GET, wchan="futex_do_wait"))
    seen = evidence.ranks[1]
    assert seen.process is not None
    assert seen.stacks is not None
    pid = seen.worker.pid
    numbered = [(pid + n, line) for n, line in enumerate(lines, 1)]
    others = tuple(Thread(number, f"Thread-{number - pid}", (AT.line(line, "mix"),)) for number, line in numbered)
    call = "futex" if wchan.startswith("futex") else ""
    states = tuple(ThreadState(number, "python", "S", wchan, 1.0, call) for number, _ in numbered)
    changed = replace(
        seen,
        stacks=replace(seen.stacks, threads=(*seen.stacks.threads, *others)),
        process=replace(seen.process, threads=(*seen.process.threads, *states)),
    )
    return replace(evidence, ranks=(evidence.ranks[0], changed, evidence.ranks[2]))


def test_threads_that_wait_for_each_others_locks_while_the_main_thread_waits_for_them() -> None:
    found = examine(mixing(11, 11)).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD238", (1,), 11)
    assert "its own threads, 2 of which wait for the lock `self.locks[answer]`" in found.summary
    assert "thread Thread-1 or thread Thread-2" in found.why


def test_a_thread_that_may_be_at_work_may_be_what_is_waited_for() -> None:
    assert examine(mixing(11, 12)).diagnoses[0].code == "DD299"
    assert examine(mixing(11, 11, wchan="pipe_read")).diagnoses[0].code == "DD299"


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


DRAWING = """def drawn(self):







    self.free.acquire()  # line 9
    self.pool.submit(self.draw)

def draw(self):
    time.sleep(2)        # line 13
    self.free.release()
"""
THREADING = "/usr/lib/python3.11/threading.py"
ACQUIRE = (Site(THREADING, 327, "Condition.wait"), Site(THREADING, 479, "Semaphore.acquire"))
IDLE = (Site("/usr/lib/python3.11/concurrent/futures/thread.py", 81, "_worker"),)


@pytest.mark.parametrize(("drawer", "code"), [(IDLE, "DD238"), ((AT.line(13, "draw"), *IDLE), "DD299")])
def test_places_of_a_semaphore_that_no_thread_gives_back(drawer: tuple[Site, ...], code: str) -> None:
    evidence = in_code(DRAWING, asleep(*ACQUIRE, call="futex", wchan="futex_do_wait"))
    seen = evidence.ranks[1]
    assert seen.stacks is not None
    pool = Thread(seen.worker.pid + 1, "sheet_0", drawer)
    changed = replace(seen, stacks=replace(seen.stacks, threads=(*seen.stacks.threads, pool)))
    found = examine(replace(evidence, ranks=(evidence.ranks[0], changed, evidence.ranks[2]))).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == (code, (1,), 9)
    assert ("a place of the semaphore `self.free`" in found.summary) is (code == "DD238")


def test_threads_that_wait_for_places_while_the_main_thread_waits_for_them() -> None:
    evidence = in_code(DRAWING, asleep(GET, wchan="futex_do_wait"))
    seen = evidence.ranks[1]
    assert seen.process is not None
    assert seen.stacks is not None
    pid = seen.worker.pid
    decoding = tuple(Thread(pid + n, f"Thread-{n}", (*ACQUIRE, AT.line(9, "drawn"))) for n in (1, 2))
    states = tuple(ThreadState(pid + n, "python", "S", "futex_do_wait", 1.0, "futex") for n in (1, 2))
    changed = replace(
        seen,
        stacks=replace(seen.stacks, threads=(*seen.stacks.threads, *decoding)),
        process=replace(seen.process, threads=(*seen.process.threads, *states)),
    )
    found = examine(replace(evidence, ranks=(evidence.ranks[0], changed, evidence.ranks[2]))).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD238", (1,))
    assert "its own threads, 2 of which wait for a place of the semaphore `self.free`" in found.summary


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
