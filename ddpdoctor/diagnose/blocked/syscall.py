"""A blocked rank: the system call that its main thread is in, from stack and kernel."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from ddpdoctor.diagnose.blocked import holders
from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.evidence import RankEvidence
from ddpdoctor.model.processes import Child, Descriptor, Holder, LockFile, ProcessState
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site, Thread
from ddpdoctor.program import libraries

#: modules in which threads of one process wait for each other
_BETWEEN_THREADS = ("/threading.py", "/queue.py", "/concurrent/futures/")


@dataclass(frozen=True, slots=True)
class BlockedSyscall:
    """Where and in what one rank's main thread is blocked."""

    #: innermost frame of the user's own code
    site: Site
    #: frames of libraries that the user's line called, innermost first
    inside: tuple[Site, ...]
    #: kernel function in which it sleeps, "" if the kernel does not report it
    wchan: str
    #: system call that it is in, "" if unknown
    call: str
    #: the file, pipe or socket of that call
    target: Descriptor | None
    #: path argument of the call, "" for calls on descriptors
    path: str = ""
    #: processes that hold what it waits for
    holders: tuple[Holder, ...] = ()
    #: why there may be more of them, "" if all processes could be inspected
    unseen: str = ""
    #: lock files that the process reports to be waiting for
    lock_files: tuple[LockFile, ...] = ()

    def calls(self, *names: str) -> bool:
        return self.call in names

    def within(self, *paths: str) -> bool:
        """Whether a library frame is in one of these files or folders."""
        return any(path in frame.file for frame in self.inside for path in paths)

    @property
    def in_futex(self) -> bool:
        """Whether it sleeps in a lock of its own process."""
        return self.calls("futex") or self.wchan.startswith("futex")

    @property
    def in_semaphore(self) -> bool:
        """Whether it waits for a place of a `threading.Semaphore`, whose `acquire` is written in Python."""
        acquires = self.inside[-1:] and self.inside[-1].function.rpartition(".")[2] == "acquire"
        return bool(acquires) and self.in_futex and self.within("/threading.py")

    @property
    def for_a_thread(self) -> bool:
        """Whether it waits for another thread of its own process."""
        return self.within(*_BETWEEN_THREADS)


def blocked_syscall(facts: Facts, rank: Rank) -> BlockedSyscall | None:
    """None if the rank moves, waits for others, holds the interpreter's lock, or shows no user line."""
    state = facts.state(rank)
    seen = facts.evidence.rank(rank)
    main = frames.main_thread(seen) if seen else None
    if seen is None or main is None or state.activity is not Activity.STILL or state.holds_gil:
        return None
    site = frames.innermost_user_frame(main.frames)
    if site is None:
        return None
    inside = tuple(itertools.takewhile(lambda frame: frame != site, main.frames))
    return _blocked_syscall(site, inside, seen.process, seen.thread)


def blocked_thread(seen: RankEvidence, thread: Thread) -> BlockedSyscall | None:
    """Where another thread of a rank is blocked: at its innermost line of the program, or else of a library. None for
    threads of torch and of the probe."""
    outside = [
        frame for frame in thread.frames if libraries.origin(frame.file).kind is not libraries.Kind.STANDARD_LIBRARY
    ]
    site = next(iter((*frames.own_frames(outside), *outside)), None)
    if site is None or frames.is_internal(site.file):
        return None
    inside = tuple(itertools.takewhile(lambda frame: frame != site, thread.frames))
    return _blocked_syscall(site, inside, seen.process, thread.os_id)


def other_threads(facts: Facts, rank: Rank) -> tuple[tuple[Thread, BlockedSyscall], ...]:
    """The rank's threads besides the one that trains, where they are in code of the program or of a library."""
    seen = facts.rank(rank)
    others = (thread for thread in (seen.stacks.threads if seen.stacks else ()) if thread.os_id != seen.thread)
    return tuple((thread, one) for thread in others if (one := blocked_thread(seen, thread)))


def threads_waited_for(
    facts: Facts, rank: Rank, blocked: BlockedSyscall, so: Callable[[BlockedSyscall], bool]
) -> tuple[tuple[Thread, BlockedSyscall], ...]:
    """The rank's threads that are blocked so, where its main thread waits for one of its threads (a queue, a future, a
    join). Empty if another thread in code of the program or of a library may be at work, and may be what it waits for.
    """
    if not blocked.for_a_thread:
        return ()
    found = other_threads(facts, rank)
    held = tuple((thread, one) for thread, one in found if so(one))
    return held if all(so(one) or one.for_a_thread for _, one in found) else ()


def blocked_syscall_of_child(child: Child, site: Site, inside: tuple[Site, ...]) -> BlockedSyscall:
    """Where the main thread of a rank's child is blocked."""
    return _blocked_syscall(site, inside, child.process, child.worker.pid)


def _blocked_syscall(site: Site, inside: tuple[Site, ...], process: ProcessState | None, pid: int) -> BlockedSyscall:
    state = next((thread for thread in process.threads if thread.os_id == pid), None) if process else None
    if process is None or state is None:
        return BlockedSyscall(site, inside, "", "", None)
    target = next((d for d in process.descriptors if d.number == state.descriptor), None)
    about = state.path, state.holders, state.unseen, process.lock_files
    return BlockedSyscall(site, inside, state.wchan, state.call, target, *about)


def waits_on(facts: Facts, blocked: BlockedSyscall) -> str:
    """`read on descriptor 5, pipe:[77]; at its other end: process 9 (python serve.py), outside of the job`.

    "" if the kernel does not report it.
    """
    if blocked.call == "wait4" and blocked.holders:
        return f"wait4, for the exit of {holders.listed(facts, blocked.holders)}"
    if not blocked.call or not (blocked.target or blocked.path):
        return ""
    what = blocked.path or (f"descriptor {blocked.target.number}, {blocked.target.target}" if blocked.target else "")
    held = holders.listed(facts, blocked.holders)
    ends = {"pipe": "at its other end", "socket": "at its other end"}
    where = ends.get(blocked.target.kind if blocked.target else "", "held by")
    unseen = f"; its holder is not known: {blocked.unseen}" if blocked.unseen and not held else ""
    return f"{blocked.call} on {what}{f'; {where}: {held}' if held else unseen}"
