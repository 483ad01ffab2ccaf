"""# DD237 data-loader-shutdown

## What
A rank waits for the worker processes of its DataLoader to exit, between two epochs or at the end.

## Why it hangs
When an iterator is discarded, it tells its workers to stop and joins them. A worker that is stuck in the dataset's
code, ignores SIGTERM, or has a full queue does not exit, and the other ranks wait in the next epoch. Nor does one with
a thread that is no daemon, for which Python waits.

## Example
    def worker_init(worker):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

## Fix
Set a timeout on everything that the dataset waits for. Do not handle SIGTERM in workers. `persistent_workers=True`
keeps the workers between epochs.

## When it is wrong
torch stops waiting after a few seconds per worker, so the wait may end by itself; the diagnosis is at most `likely`. A
rank that waits for a batch, not for a worker's exit, is DD234.

## References
https://github.com/pytorch/pytorch/issues/39570 https://github.com/pytorch/pytorch/issues/43455
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.blocked.data_workers import kept_from_exit, stuck_workers
from ddpdoctor.diagnose.codes import DATA_LOADER_SHUTDOWN
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model import torch_internals
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.evidence import RankEvidence
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.torch_internals import Meaning

_LET_EXIT = (
    "Set a time limit on the dataset's waits and let workers exit on SIGTERM; persistent_workers=True keeps them "
    "between epochs."
)
_END_THREADS = "Make the thread a daemon, or tell it to end when the worker does; let workers exit on SIGTERM."


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    idle = facts.doing(Activity.STILL, Activity.UNKNOWN)
    ending = RankSet.of(rank for rank in idle if _ends_workers(facts.rank(rank)))
    # workers on a busy machine may take long to exit: the rank waits for those that make no progress
    held = RankSet.of(rank for rank in ending if _may_be_held(facts, rank))
    if ending:
        yield _diagnosis(facts, held or ending)


def _may_be_held(facts: Facts, rank: Rank) -> bool:
    """A worker makes no progress, or its state is not known."""
    children = facts.rank(rank).children
    return bool(stuck_workers(facts, rank) or kept_from_exit(facts, rank)) or any(
        child.stacks is None for child in children
    )


def _ends_workers(rank: RankEvidence) -> bool:
    main = frames.main_thread(rank)
    return main is not None and any(
        torch_internals.shows(frame.file, frame.function, Meaning.ENDS_WORKERS) for frame in main.frames
    )


def _diagnosis(facts: Facts, ending: RankSet) -> Diagnosis:
    who = wording.ranks(ending)
    stuck = tuple(worker for rank in ending for worker in stuck_workers(facts, rank))
    kept = tuple(one for rank in ending for one in kept_from_exit(facts, rank))
    waiting = facts.waiting - ending
    standing = [
        *(f"worker {worker.pid} is at {worker.site_text()}" for worker in stuck),
        *(
            f"a thread of worker {pid}, for which it waits at its end, is at {wording.place(site)}"
            for pid, site in kept
        ),
    ]
    where = f"; {standing[0]}" if standing else ""
    return diagnosis(
        DATA_LOADER_SHUTDOWN,
        waiting,
        confidence=Confidence.LIKELY,
        culprits=ending,
        summary=(
            f"{who} {wording.verb(ending, 'waits', 'wait')} for {wording.verb(ending, 'its', 'their')} data workers "
            f"to exit at {wording.place(facts.state(ending.members[0]).site)}{where}"
        ),
        why=(
            f"The iterator of the DataLoader was discarded, and its workers do not exit{where}. "
            f"{wording.ranks(waiting).capitalize()} {wording.verb(waiting, 'waits', 'wait')} in "
            f"{wording.waiting(facts, waiting)}."
            if waiting
            else f"The iterator of the DataLoader was discarded, and its workers do not exit{where}."
        ),
        fix=_END_THREADS if kept and not stuck else _LET_EXIT,
        locations=(
            *(facts.location(ending, site) for _, site in kept[:1]),
            *facts.locations_of(ending),
            *facts.locations_of(waiting),
        ),
        evidence=tuple(standing) or (f"{who}: inside the DataLoader's _shutdown_workers",),
    )
