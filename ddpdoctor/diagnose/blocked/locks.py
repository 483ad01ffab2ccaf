"""Which lock a blocked rank waits for, and who holds it, from the kernel, the probe, the stacks and the source."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.blocked import holders, lock_statements
from ddpdoctor.diagnose.blocked.syscall import BlockedSyscall, blocked_syscall, other_threads, threads_waited_for
from ddpdoctor.diagnose.digest import file_polling, frames
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.evidence import RankEvidence
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Holder, Relation
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site, Thread
from ddpdoctor.model.torch_internals import Meaning

#: libraries that wait for lock files, used by hubs, caches and compilers; torch's own extension builds do so too
_LIBRARIES = ("/filelock/", "/portalocker/", "/fasteners/", "/lockfile/", "/zc/lockfile/")


class LockKind(Enum):
    #: flock or fcntl: the kernel keeps the lock, and releases it when its owner ends
    KERNEL = "kernel"
    #: a file whose presence is the lock, tested in a loop
    POLLED = "polled"
    #: a lock between threads of one process
    THREAD = "thread"


@dataclass(frozen=True, slots=True)
class LockWait:
    """One rank's wait for a lock."""

    rank: Rank
    kind: LockKind
    blocked: BlockedSyscall
    #: the lock file, "" if its name was not seen
    path: str = ""
    #: the lock as written in the source, "" if it was not seen
    expression: str = ""
    #: processes that hold it, or have its file open
    owners: tuple[Holder, ...] = ()
    #: why there may be more of them
    unseen: str = ""
    #: POLLED: whether the file exists; UNKNOWN if that was not observed
    exists: Observed = Observed.UNKNOWN
    #: POLLED: modification time, seconds since the epoch
    modified: float | None = None
    #: THREAD: the thread that holds the lock, and where it is
    thread: str = ""
    inside: Site | None = None
    #: THREAD: the threads that wait for it, where the rank's main thread waits for one of these
    through: tuple[str, ...] = ()

    @property
    def semaphore(self) -> bool:
        """Whether it has several places, which any thread may give back."""
        return self.blocked.in_semaphore

    @property
    def held(self) -> bool:
        """Whether the owners certainly hold the lock; otherwise they only have its file open."""
        living = [owner for owner in self.owners if owner.name]
        return bool(living) and all(owner.relation is Relation.OWNER for owner in living)

    @property
    def name(self) -> str:
        """The lock file, else the lock as written in the source; "" if neither is known."""
        return self.path or self.expression


def lock_wait(facts: Facts, rank: Rank) -> LockWait | None:
    """None if the rank waits for no lock that can be identified."""
    blocked = blocked_syscall(facts, rank)
    if blocked is None:
        return None
    if blocked.calls("flock", "fcntl") and blocked.target is not None:
        path = blocked.target.target
        return LockWait(rank, LockKind.KERNEL, blocked, path, owners=blocked.holders, unseen=blocked.unseen)
    built = frames.are_in(blocked.inside, Meaning.LOCKS)
    if built or blocked.within(*_LIBRARIES):
        return _polled(rank, blocked, "")
    poll = file_polling.polled_file(facts.program, blocked.site) if _naps(blocked) else None
    if poll is not None:
        return _polled(rank, blocked, poll.check) if poll.gone else None
    return _of_threads(facts, rank, blocked) or _through_threads(facts, rank, blocked)


def _polled(rank: Rank, blocked: BlockedSyscall, expression: str) -> LockWait:
    if not blocked.lock_files:
        return LockWait(rank, LockKind.POLLED, blocked, expression=expression)
    file = blocked.lock_files[0]
    about = file.holders, file.unseen, file.exists, file.modified
    return LockWait(rank, LockKind.POLLED, blocked, file.path, expression, *about)


def _naps(blocked: BlockedSyscall) -> bool:
    """Whether it sleeps for a fixed time, and not in a lock or a system call."""
    return not blocked.inside and not blocked.call and not blocked.wchan.startswith("futex")


def _of_threads(facts: Facts, rank: Rank, blocked: BlockedSyscall) -> LockWait | None:
    """A lock of Python or of a library, which the user's line acquires."""
    seen = facts.rank(rank)
    taken = _taken(facts, blocked)
    if not blocked.in_futex or not (taken or blocked.holders):
        return None
    if blocked.in_semaphore and any(not one.for_a_thread for _, one in other_threads(facts, rank)):
        return None  # one of them may be at work, and give its place back
    inside = holder_inside(facts, seen, taken) if taken else None
    owner = next((h for h in blocked.holders if h.pid == seen.worker.pid and h.thread), None)
    thread = frames.thread_of(seen, owner.thread) if owner and owner.thread else (inside[0] if inside else None)
    site = frames.innermost_user_frame(thread.frames) if thread else None
    where = inside[1] if inside and thread is inside[0] else site
    name = _name(thread) if thread else ""
    return LockWait(rank, LockKind.THREAD, blocked, "", taken, blocked.holders, thread=name, inside=where)


def _taken(facts: Facts, blocked: BlockedSyscall) -> str:
    """The lock that the user's line acquires, "" for none."""
    in_lock = blocked.in_futex and (not blocked.inside or blocked.in_semaphore)
    return lock_statements.lock_taken(facts.program, blocked.site) if in_lock else ""


def _through_threads(facts: Facts, rank: Rank, blocked: BlockedSyscall) -> LockWait | None:
    """A lock that threads of the rank wait for, for one of which its main thread waits."""
    taking = threads_waited_for(facts, rank, blocked, lambda one: bool(_taken(facts, one)))
    if not taking:
        return None
    first, names = taking[0][1], tuple(sorted(_name(thread) for thread, _ in taking))
    return LockWait(rank, LockKind.THREAD, first, expression=_taken(facts, first), through=names)


def holder_inside(facts: Facts, seen: RankEvidence, lock: str) -> tuple[Thread, Site] | None:
    """The only thread of a rank, apart from the one that trains, that is inside a `with` of this lock."""
    found = [
        (thread, site)
        for thread in (seen.stacks.threads if seen.stacks else ())
        if thread.os_id != seen.thread
        and (site := lock_statements.inside_of(facts.program, frames.user_frames(thread.frames), lock))
    ]
    return found[0] if len(found) == 1 else None


def takers(facts: Facts, seen: RankEvidence, lock: str) -> tuple[tuple[Thread, Site], ...]:
    """Threads of a rank, apart from the one that trains, whose functions acquire this lock, and where."""
    return tuple(
        (thread, site)
        for thread in (seen.stacks.threads if seen.stacks else ())
        if thread.os_id != seen.thread
        and (site := lock_statements.taken_by(facts.program, frames.user_frames(thread.frames), lock))
    )


def _name(thread: Thread) -> str:
    return f"thread {thread.name or thread.os_id}"


def owner_sentence(facts: Facts, wait: LockWait) -> str:
    """Who holds the lock, or what is known about its holder, in one or two sentences."""
    if wait.kind is LockKind.THREAD:
        return _thread_owner(facts, wait)
    if wait.kind is LockKind.KERNEL:
        return _kernel_owner(facts, wait)
    if wait.held:
        return f"The lock is held by {holders.listed(facts, wait.owners)}."
    if wait.exists is Observed.NO:
        return "The file no longer exists: the rank may continue."
    held = holders.listed(facts, wait.owners)
    if held:
        return f"It is open in {held}, which may hold the lock.{_age(facts, wait)}"
    if not wait.path:
        return (
            "Neither the file's name nor the holder of the lock is known; a process that was killed may have left it."
        )
    if wait.exists is Observed.UNKNOWN:
        return "It is not known whether the file still exists, nor which process holds the lock."
    if wait.unseen:
        return f"It is not known which process has it open: {wait.unseen}.{_age(facts, wait)}"
    return (
        "No process that is visible from here has it open: its creator has exited without removing it, or is on "
        f"another machine or in another container.{_age(facts, wait)}"
    )


def _kernel_owner(facts: Facts, wait: LockWait) -> str:
    living = tuple(owner for owner in wait.owners if owner.name)
    if living:
        return f"The lock is held by {holders.listed(facts, living)}."
    if wait.unseen:
        return f"It is not known which process holds the lock: {wait.unseen}."
    return (
        "No process that is visible from here holds the lock: its owner is on another machine that shares the file, "
        "or in another container."
    )


def _thread_owner(facts: Facts, wait: LockWait) -> str:
    if wait.through and not wait.semaphore:
        return (
            f"Its main thread waits for {_either(wait.through)}: that one waits for a lock of the same process, and "
            "who could release it waits, too."
        )
    if wait.semaphore:
        return "All its places are taken, and no thread of the process is at work that could give one back."
    if wait.thread:
        doing = f" at {wording.place(wait.inside)}" if wait.inside else ""
        return f"{wait.thread.capitalize()} of the same process holds it{doing}."
    if wait.owners:
        return f"It is held by {holders.listed(facts, wait.owners)}."
    if wait.expression.endswith("]"):
        return "Which lock of these it is, and who holds it, is not known."
    return "No other thread of the process is inside it: a thread that has ended, or this one, did not release it."


def _either(names: tuple[str, ...]) -> str:
    *rest, last = names
    return f"{', '.join(rest)} or {last}" if rest else last


def _age(facts: Facts, wait: LockWait) -> str:
    """Whether the file is older than the job; file servers' clocks may differ slightly."""
    started = min((seen.worker.started for seen in facts.evidence.ranks), default=0.0)
    if wait.modified is None or not started:
        return ""
    before = started - wait.modified
    if before > 2.0:
        return (
            f" It was created {wording.seconds(before)} before this job's ranks were started: an earlier run left it."
        )
    return " It was created during this job."
