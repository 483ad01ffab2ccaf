"""# DD235 fork-lock-in-worker

## What
A DataLoader worker waits for a lock that was held when the worker was forked. The thread that held it does not exist in
the worker. The worker may not even come out of its fork: the interpreter and what is registered to run at a fork take
locks before anything of the worker's own runs.

## Why it hangs
A fork copies locks in their current state, but only the forking thread. A lock held by another thread (in a logger, a
cache, a native library) stays locked in the child for ever. The rank waits for the worker, and the other ranks wait for
the rank. The interpreter's list of threads has such a lock, which CPython needed in the child before it renewed it
(seen with 3.11.7; python/cpython issue 112275), and which a thread of gloo takes when it is done with a tensor that
Python knows: a loader that forks right after a collective on a busy machine can lose a worker so.

## Example
    lock = threading.Lock()                          # a background thread of the rank takes it now and then
    def __getitem__(self, index):
        with lock:                                   # in the worker: held by a thread that was not copied

## Fix
Use `DataLoader(multiprocessing_context="spawn")` or `"forkserver"`. Start threads after the workers. Call
`cv2.setNumThreads(0)`.

## When it is wrong
A lock that the workers share on purpose, held by one of them, looks the same from outside.

## References
https://github.com/pytorch/pytorch/issues/75147 https://github.com/pytorch/pytorch/issues/130610
https://github.com/python/cpython/issues/112275
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.blocked import holders, lock_statements, locks
from ddpdoctor.diagnose.blocked.data_workers import WorkerInDataset, stuck_workers
from ddpdoctor.diagnose.codes import FORK_LOCK_IN_WORKER
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import Rank, RankSet


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for rank in facts.blockers:
        workers = [worker for worker in stuck_workers(facts, rank) if worker.in_lock]
        if workers:
            yield _diagnosis(facts, RankSet.of([rank]), workers)


def _diagnosis(facts: Facts, culprit: RankSet, workers: list[WorkerInDataset]) -> Diagnosis:
    rank = culprit.members[0]
    waiting = facts.waiting - culprit
    first = workers[0]
    return diagnosis(
        FORK_LOCK_IN_WORKER,
        waiting,
        confidence=Confidence.LIKELY,
        culprits=culprit,
        summary=f"rank {rank} waits for its data worker {first.pid}, which {_waits(first)}",
        why=(
            f"Worker {first.pid} sleeps in {_lock(facts, first)} that is never released: "
            f"{_owner(facts, rank, first)}, and that thread does not exist in the "
            f"worker.{wording.held_up(facts, waiting, f'rank {rank}')}"
        ),
        fix=(
            'Start the workers without fork: DataLoader(multiprocessing_context="spawn") or "forkserver", or start '
            "threads only after the loader's workers."
        ),
        locations=(
            facts.location([rank], first.site),
            *facts.locations_of(culprit),
            *facts.locations_of(waiting),
        ),
        evidence=tuple(f"worker {w.pid} of rank {rank}: {w.site_text()}, asleep in {w.wchan}" for w in workers),
    )


def _waits(worker: WorkerInDataset) -> str:
    if worker.in_fork:
        return f"has not come out of its fork: it waits for a lock at {worker.site_text()}"
    return f"waits for a lock at {worker.site_text()}"


def _lock(facts: Facts, worker: WorkerInDataset) -> str:
    taken = lock_statements.lock_taken(facts.program, worker.site)
    return f"the lock `{taken}`" if taken else "a lock"


def _owner(facts: Facts, rank: Rank, worker: WorkerInDataset) -> str:
    """The thread of the rank that held the lock when the worker was forked, as far as stacks and kernel show."""
    seen = facts.rank(rank)
    mutex = next((h for h in worker.blocked.holders if h.pid == seen.worker.pid and h.thread), None)
    if mutex is not None:
        return f"{holders.named(facts, mutex)} held it when the worker was forked"
    taken = lock_statements.lock_taken(facts.program, worker.site)
    inside = locks.holder_inside(facts, seen, taken) if taken else None
    if inside is not None:
        thread, site = inside
        return f"thread {thread.name or thread.os_id} of rank {rank} is inside it at {wording.place(site)}"
    found = locks.takers(facts, seen, taken) if taken else ()
    if len(found) == 1:
        thread, site = found[0]
        return (
            f"thread {thread.name or thread.os_id} of rank {rank}, which takes it at {wording.place(site)}, probably "
            "held it when the worker was forked"
        )
    return f"it was probably held by another thread of rank {rank} when the worker was forked"
