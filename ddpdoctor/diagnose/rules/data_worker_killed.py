"""# DD236 data-worker-killed

## What
A worker process of a DataLoader was killed, by the out-of-memory killer or by SIGBUS because /dev/shm is full.

## Why it hangs
The rank raises an exception when it requests the next batch, and the other ranks lose their peer. On old versions of
torch, the rank waits for ever for a batch that no worker will deliver.

## Example
    docker run --shm-size 64m ...        # the default, and each batch goes through /dev/shm

## Fix
Use more memory for the container or fewer workers. For SIGBUS, use `--shm-size` or `--ipc=host`.

## When it is wrong
The evidence does not show who killed the worker. If the rank's error is torch's own message about it, the diagnosis is
`certain`; if only the connection to the worker broke, the worker may also have exited by itself.

## References
https://github.com/pytorch/pytorch/issues/1355 https://pytorch.org/docs/stable/data.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose.codes import DATA_WORKER_KILLED
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest import failure as failures
from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.failure import Failure
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.model.torch_internals import Meaning


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    own = [failure for failure in facts.failures if not failure.victim]
    if own and failures.lost_data_worker(own[0]):
        yield _raised(facts, own[0], alone=len(own) == 1)
    if facts.outcome is Outcome.HANG:
        for rank in facts.blockers:
            dead = _dead_workers(facts, rank)
            if dead:
                yield _waits(facts, rank, dead)


def _raised(facts: Facts, first: Failure, *, alone: bool) -> Diagnosis:
    culprit = RankSet.of([first.rank])
    raised = first.raised
    site = _loop(facts, first.rank) or failures.failure_site(facts.rank(first.rank), first)
    sure = alone and not facts.evidence.unseen() and not failures.cut_off_data_worker(first)
    confidence = Confidence.CERTAIN if sure else Confidence.LIKELY
    said = raised.message.strip().splitlines()[0] if raised and raised.message.strip() else ""
    return diagnosis(
        DATA_WORKER_KILLED,
        facts.waiting,
        confidence=confidence,
        culprits=culprit,
        summary=f"a data worker of rank {first.rank} was killed: {said[:160]}",
        why=(
            f"The worker's process is gone, and rank {first.rank} raised an exception when it requested the next "
            "batch. The other ranks only lost their peer."
        ),
        fix=_FIX,
        locations=(facts.location(culprit, site),) if site else (),
        evidence=(f"rank {first.rank} raised {raised.type}: {said[:160]}",) if raised else (),
        traceback=raised.traceback if raised else "",
    )


def _loop(facts: Facts, rank: Rank) -> Site | None:
    """Where the rank requests batches. A signal raises the error itself, wherever the rank happens to be."""
    history = facts.histories.get(rank)
    steps = history.steps if history else ()
    return next((step.site for step in reversed(steps) if step.kind is EventKind.NEXT), None)


_FIX = (
    "Look in `dmesg` and the container's events for the out-of-memory killer; give the container more memory or use "
    "fewer workers. For a bus error, make /dev/shm larger (`--shm-size`, `--ipc=host`)."
)


def _dead_workers(facts: Facts, rank: Rank) -> tuple[int, ...]:
    """Children that have exited unnoticed by the rank, which waits for its loader."""
    seen = facts.rank(rank) if facts.evidence.rank(rank) else None
    main = frames.main_thread(seen) if seen else None
    if seen is None or main is None or not frames.are_in(main.frames, Meaning.LOADS):
        return ()
    return tuple(c.worker.pid for c in seen.children if c.process and c.process.state in ("Z", "X"))


def _waits(facts: Facts, rank: Rank, dead: tuple[int, ...]) -> Diagnosis:
    culprit = RankSet.of([rank])
    pids = ", ".join(map(str, dead))
    return diagnosis(
        DATA_WORKER_KILLED,
        facts.waiting,
        confidence=Confidence.LIKELY,
        culprits=culprit,
        summary=f"rank {rank} waits for its DataLoader, whose worker {pids} is dead",
        why=f"The worker's process has ended, and rank {rank} still waits for a batch from it.",
        fix=_FIX,
        locations=(*facts.locations_of(culprit), *facts.locations_of(facts.waiting - culprit)),
        evidence=(f"rank {rank}: child {pids} has ended and was not waited for",),
    )
