"""A rank's DataLoader workers: which of them are in the dataset's code, blocked or at work."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import PurePath

from ddpdoctor.diagnose.blocked import lock_statements
from ddpdoctor.diagnose.blocked.syscall import BlockedSyscall, blocked_syscall_of_child
from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.waits import uses_processor
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model import torch_internals
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Child
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site, Thread
from ddpdoctor.model.torch_internals import Meaning


@dataclass(frozen=True, slots=True)
class WorkerInDataset:
    """A data worker that is in the dataset's code, or on its way there."""

    pid: int
    #: the user's line, or that of a library if the dataset is a library's
    site: Site
    #: kernel function in which its main thread sleeps
    wchan: str
    #: whether it sleeps in a lock that a fork may have copied
    in_lock: bool
    blocked: BlockedSyscall
    #: whether it has not come out of the fork that made it
    in_fork: bool = False

    def site_text(self) -> str:
        return f"{PurePath(self.site.file).name}:{self.site.line}"


def stuck_workers(facts: Facts, rank: Rank) -> tuple[WorkerInDataset, ...]:
    """Workers that are blocked in the dataset's code, if the rank's main thread waits for its DataLoader."""
    return _workers(facts, rank, moving=False)


def busy_workers(facts: Facts, rank: Rank) -> tuple[WorkerInDataset, ...]:
    """Workers that are at work in the dataset's code, if the rank's main thread waits for its DataLoader."""
    return _workers(facts, rank, moving=True)


def kept_from_exit(facts: Facts, rank: Rank) -> tuple[tuple[int, Site], ...]:
    """Workers that have ended but for a thread of theirs, and where that stands: Python waits for it, unless it is a
    daemon."""
    leaving = (child for child in facts.rank(rank).children if (main := _main(child)) and _is_leaving(main))
    return tuple((child.worker.pid, site) for child in leaving if (site := _line_of_a_thread(facts, child)))


def _line_of_a_thread(facts: Facts, child: Child) -> Site | None:
    """The first line of the program in which another thread than the main one is."""
    threads = (one for one in (child.stacks.threads if child.stacks else ()) if one is not _main(child))
    return next((frame for one in threads for frame in one.frames if not facts.is_library(frame.file)), None)


def _is_leaving(main: Thread) -> bool:
    """Whether it is in the interpreter's own wait for threads at its end (`threading._shutdown`)."""
    return any(frame.file.endswith("/threading.py") and frame.function == "_shutdown" for frame in main.frames[:1])


def _workers(facts: Facts, rank: Rank, *, moving: bool) -> tuple[WorkerInDataset, ...]:
    seen = facts.rank(rank)
    main = frames.main_thread(seen)
    if main is None or not frames.are_in(main.frames, Meaning.LOADS):
        return ()
    children = (child for child in seen.children if _moves(child) is moving)
    return tuple(worker for child in children if (worker := _in_dataset(child, facts) or _in_fork(child, facts)))


def _moves(child: Child) -> bool:
    return child.motion is not None and (
        uses_processor(child.process, child.motion) or child.motion.lines_moved is Observed.YES
    )


def _in_dataset(child: Child, facts: Facts) -> WorkerInDataset | None:
    thread = _main(child)
    if thread is None or not frames.are_in(thread.frames, Meaning.WORKS_FOR_LOADER):
        return None
    inside = []
    for frame in thread.frames:
        if torch_internals.is_in(frame.file, Meaning.WORKS_FOR_LOADER):
            break
        inside.append(frame)
    own = [frame for frame in inside if not facts.is_library(frame.file)]
    if not own and frames.are_in(thread.frames, Meaning.FETCHES):
        own = inside[-1:]  # a dataset of a library, which may run all the same
    if not own:
        return None  # idle: waiting for its next index
    wchan = _wchan(child, thread)
    locks = wchan.startswith("futex") and not any("sleep" in f.function or _is_notified(f) for f in inside)
    shared = lock_statements.is_shared(facts.program, lock_statements.lock_taken(facts.program, own[0]))
    blocked = blocked_syscall_of_child(child, own[0], tuple(itertools.takewhile(lambda frame: frame != own[0], inside)))
    return WorkerInDataset(child.worker.pid, own[0], wchan, locks and not shared, blocked)


def _in_fork(child: Child, facts: Facts) -> WorkerInDataset | None:
    """A process that waits for a lock before it runs what it was made for: its innermost call but for what runs at each
    fork is the one that forks."""
    thread = _main(child)
    frames_of = thread.frames if thread is not None else ()
    inside = tuple(itertools.takewhile(lambda frame: not _forks(frame), frames_of))
    if thread is None or len(inside) == len(frames_of) or any(map(_begins, inside)):
        return None
    wchan = _wchan(child, thread)
    site = next((frame for frame in frames_of if not facts.is_library(frame.file)), None)
    if site is None or not wchan.startswith("futex"):
        return None
    return WorkerInDataset(child.worker.pid, site, wchan, True, blocked_syscall_of_child(child, site, ()), in_fork=True)


def _forks(frame: Site) -> bool:
    return frame.file.endswith("/multiprocessing/popen_fork.py") and frame.plain_function == "_launch"


def _begins(frame: Site) -> bool:
    """Whether the process runs what it was made for: the fork has returned in it."""
    return frame.file.endswith("/multiprocessing/process.py")


def _is_notified(frame: Site) -> bool:
    """Whether it waits for a thread of its own process (queue.get(), Event.wait()), or for another process. The lock in
    which it sleeps is made for this wait, so it was not held when the process was forked.
    """
    conditions = ("/threading.py", "/multiprocessing/synchronize.py")
    return frame.file.endswith(conditions) and frame.function.rpartition(".")[2] == "wait"


def _main(child: Child) -> Thread | None:
    threads = child.stacks.threads if child.stacks else ()
    return next((thread for thread in threads if thread.os_id == child.worker.pid), None) or (
        child.stacks.main() if child.stacks else None
    )


def _wchan(child: Child, thread: Thread) -> str:
    threads = child.process.threads if child.process else ()
    return next((state.wchan for state in threads if state.os_id == thread.os_id), "")
