"""Ranks that wait for their data workers to exit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Child, Motion, ProcessState, ThreadState
from ddpdoctor.model.ranks import Role, Worker
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
from tests.unit.diagnose.builders import NOW, TORCH, At, Doing, job

AT = At()
LOADER = f"{TORCH}/utils/data/dataloader.py"
POLL = Site("/usr/lib/python3.11/selectors.py", 415, "select")


def _job(function: str, odd: int) -> Evidence:
    waits = Doing([*AT.step(3), AT.all("barrier", 9)])
    ends = Doing(AT.step(3), blocked=False, stands=AT.line(7))
    evidence = job([ends if rank == odd else waits for rank in range(3)])
    ranks = list(evidence.ranks)
    frames = (POLL, Site(LOADER, 1654, function), AT.line(7))
    stacks = Stacks(StackSource.PYSPY, (Thread(ranks[odd].worker.pid, "MainThread", frames),))
    ranks[odd] = replace(ranks[odd], stacks=stacks)
    return replace(evidence, ranks=tuple(ranks))


@pytest.mark.parametrize("odd", range(3))
def test_an_iterator_that_was_given_up(odd: int) -> None:
    found = examine(_job("_MultiProcessingDataLoaderIter._shutdown_workers", odd)).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD237", (odd,), 7)


def test_a_wait_for_a_batch_is_another_cause() -> None:
    report = examine(_job("_MultiProcessingDataLoaderIter._try_get_data", 1))
    assert "DD237" not in [d.code for d in report.diagnoses]


def _worker(pid: int, motion: Motion, stacks: bool = True) -> Child:
    frames = (
        Site("/job/data.py", 40, "__getitem__"),
        Site(f"{TORCH}/utils/data/_utils/worker.py", 349, "_worker_loop"),
    )
    thread = Thread(pid, "MainThread", frames)
    state = ProcessState(NOW, "S", 1.0, 0, (ThreadState(pid, "python", "S", "hrtimer_nanosleep", 1.0),))
    seen = Stacks(StackSource.PYSPY, (thread,)) if stacks else None
    return Child(Worker(pid, 1.0, Role.CHILD), state, seen, motion)


STILL, BUSY = Motion(1.0, 0.0, 0, Observed.NO, Observed.NO), Motion(1.0, 0.6, 0, Observed.YES, Observed.NO)


@pytest.mark.parametrize(
    ("second", "culprits"),
    [
        ((_worker(7002, BUSY),), (1,)),  # its workers end, slowly
        ((), (1,)),  # they have ended
        ((_worker(7002, STILL, stacks=False),), (1, 2)),  # nobody knows
        ((_worker(7002, STILL),), (1, 2)),
    ],
)
def test_workers_that_are_on_their_way_out_hold_nobody(second: tuple[Child, ...], culprits: tuple[int, ...]) -> None:
    one, other = (_job("_MultiProcessingDataLoaderIter._shutdown_workers", odd).ranks[odd] for odd in (1, 2))
    waits = _job("_shutdown_workers", 1)
    ranks = (waits.ranks[0], replace(one, children=(_worker(7001, STILL),)), replace(other, children=second))
    found = examine(replace(waits, ranks=ranks)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD237", culprits)


def _left_by(*threads: Thread) -> Child:
    """A worker whose main thread waits at the interpreter's end."""
    ends = Thread(7001, "MainThread", (Site("/usr/lib/python3.11/threading.py", 1590, "_shutdown"),))
    return replace(_worker(7001, STILL), stacks=Stacks(StackSource.PYSPY, (*threads, ends)))


def test_a_thread_of_a_worker_that_does_not_end_is_shown() -> None:
    get = Site("/usr/lib/python3.11/queue.py", 171, "Queue.get")
    serves = Thread(7002, "Thread-1", (Site("/usr/lib/python3.11/socket.py", 294, "socket.accept"),))
    writes = Thread(7003, "thumbnails", (get, Site("/job/tiles.py", 29, "write_all")))
    evidence = _job("_MultiProcessingDataLoaderIter._shutdown_workers", 1)
    for threads, place, said in (((serves, writes), ("/job/tiles.py", 29), True), ((serves,), (AT.file, 7), False)):
        odd = replace(evidence.ranks[1], children=(_left_by(*threads),))
        found = examine(replace(evidence, ranks=(evidence.ranks[0], odd, evidence.ranks[2]))).diagnoses[0]
        assert (found.code, found.culprits.members) == ("DD237", (1,))
        assert (found.locations[0].file, found.locations[0].line) == place
        assert ("a thread of worker 7001, for which it waits at its end, is at tiles.py:29" in found.summary) is said
