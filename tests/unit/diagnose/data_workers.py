"""Jobs in which rank 1 waits for its data workers."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Child, Motion, ProcessState, ThreadState
from ddpdoctor.model.ranks import Role, Worker
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
from tests.unit.diagnose.builders import NOW, TORCH, At, Doing, job

AT = At()
LOADER = Site(f"{TORCH}/utils/data/dataloader.py", 1300, "_try_get_data")
WORKER = Site(f"{TORCH}/utils/data/_utils/worker.py", 349, "_worker_loop")
POLL = Site("/usr/lib/python3.11/selectors.py", 415, "select")
STILL = Motion(1.0, 0.0, 0, Observed.NO, Observed.NO)


def fetching(*workers: Child) -> Evidence:
    """Rank 1 waits for its loader, the others for rank 1."""
    usual = Doing([AT.next(3), AT.forward(4), AT.backward(5)])
    evidence = job([usual, Doing([AT.next(3)], blocked=False, stands=AT.line(3)), usual])
    return replace(evidence, ranks=tuple(_with(seen, workers) if seen.rank == 1 else seen for seen in evidence.ranks))


def _with(seen: RankEvidence, workers: tuple[Child, ...]) -> RankEvidence:
    main = Thread(seen.worker.pid, "MainThread", (POLL, LOADER, AT.line(3)))
    return replace(seen, stacks=Stacks(StackSource.PYSPY, (main,)), children=workers)


def worker(*frames: Site, wchan: str, motion: Motion = STILL) -> Child:
    return forked(*frames, WORKER, wchan=wchan, motion=motion)


def forked(*frames: Site, wchan: str, motion: Motion = STILL) -> Child:
    """A child of which these are all frames."""
    pid = 7001
    thread = Thread(pid, "MainThread", frames)
    state = ProcessState(NOW, "S", 1.0, 0, (ThreadState(pid, "python", "S", wchan, 1.0),))
    return Child(Worker(pid, 1.0, Role.CHILD), state, Stacks(StackSource.PYSPY, (thread,)), motion)
