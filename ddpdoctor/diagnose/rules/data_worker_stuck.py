"""# DD234 data-worker-stuck

## What
A rank waits for its DataLoader, and one of the worker processes does not return from the dataset's code.

## Why it hangs
The rank waits for the next batch from its worker, and the other ranks wait for that rank's gradients. The line that
matters is in the worker, a process that the stack of no rank shows.

## Example
    def __getitem__(self, index):
        with open(self.paths[index]) as file:        # a pipe, a mount that does not answer
            return parse(file)

## Fix
Set a timeout on the read. `DataLoader(timeout=...)` turns the hang into an error that names the worker.

## When it is wrong
A sample that is merely slow looks the same while it is being loaded.

## References
https://github.com/pytorch/pytorch/issues/87995 https://github.com/pytorch/pytorch/issues/24927
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.blocked.data_workers import WorkerInDataset, stuck_workers
from ddpdoctor.diagnose.blocked.syscall import waits_on
from ddpdoctor.diagnose.codes import DATA_WORKER_STUCK
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import Rank, RankSet


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for rank in facts.blockers:
        workers = [worker for worker in stuck_workers(facts, rank) if not worker.in_lock]
        if workers:
            yield _diagnosis(facts, RankSet.of([rank]), workers[0].site_text(), workers)


def _diagnosis(facts: Facts, culprit: RankSet, where: str, workers: list[WorkerInDataset]) -> Diagnosis:
    rank = culprit.members[0]
    waiting = facts.waiting - culprit
    pids = ", ".join(str(worker.pid) for worker in workers)
    return diagnosis(
        DATA_WORKER_STUCK,
        waiting,
        confidence=Confidence.LIKELY,
        culprits=culprit,
        summary=f"rank {rank} waits for its data worker {workers[0].pid}, which is at {where}",
        why=(
            f"Rank {rank} needs the next batch from its worker process{'es' if len(workers) > 1 else ''} {pids}, and "
            f"{'they do' if len(workers) > 1 else 'it does'} not leave the dataset's own "
            f"code.{_reads(facts, workers[0])}{wording.held_up(facts, waiting, f'rank {rank}')}"
        ),
        fix="Set a timeout on what the worker reads; DataLoader(timeout=...) turns the hang into an error.",
        locations=(
            *(facts.location([rank], one.site) for one in workers[:1] if not facts.is_library(one.site.file)),
            *facts.locations_of(culprit),
            *facts.locations_of(waiting),
        ),
        evidence=tuple(_evidence(facts, rank, worker) for worker in workers),
    )


def _evidence(facts: Facts, rank: Rank, worker: WorkerInDataset) -> str:
    what = waits_on(facts, worker.blocked)
    asleep = f"inside {what}" if what else f"asleep in {worker.wchan or 'the kernel'}"
    return f"worker {worker.pid} of rank {rank}: {worker.site_text()}, {asleep}"


def _reads(facts: Facts, worker: WorkerInDataset) -> str:
    """What the worker waits on, as a clause; "" if the kernel does not show it."""
    what = waits_on(facts, worker.blocked)
    return f" It is inside {what}." if what else ""
