"""The kernel's data about a process: its state, its motion between two samples, its exit."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ddpdoctor.model.observed import Observed
from ddpdoctor.model.ranks import Worker
from ddpdoctor.model.stacks import Stacks


class Relation(Enum):
    """How a process is related to what another process waits on."""

    #: holds the lock
    OWNER = "owner"
    #: has the locked file open; whether it holds the lock is not known
    OPENER = "opener"
    READER = "reader"
    WRITER = "writer"
    #: the other end of a socket
    PEER = "peer"
    #: the process whose exit is waited for
    AWAITED = "awaited"


@dataclass(frozen=True, slots=True)
class Holder:
    """A process, of the job or not, that is related to what a thread waits on."""

    pid: int
    relation: Relation
    #: the kernel's name for it, "" if it has ended
    name: str = ""
    command: tuple[str, ...] = ()
    #: the thread of it that owns the lock, None if only the process is known
    thread: int | None = None


@dataclass(frozen=True, slots=True)
class ThreadState:
    os_id: int
    name: str
    #: one letter of /proc/<pid>/task/<tid>/stat: R, S, D, T, t, Z
    state: str
    #: kernel function in which it sleeps, "" if the kernel does not state it
    wchan: str
    #: user and system time in seconds
    cpu_seconds: float
    #: system call in which it is blocked, "" if it is running, or if the kernel or our table does not name the call
    call: str = ""
    #: file descriptor that the call refers to
    descriptor: int | None = None
    #: path that the call refers to, "" for calls that take descriptors
    path: str = ""
    #: holders of what the call waits on; for main threads only
    holders: tuple[Holder, ...] = ()
    #: why the list may be incomplete, "" if it is complete
    unseen: str = ""
    #: bytes that it has read and written through system calls, for main threads only; None where the kernel hides it
    io_bytes: int | None = None
    #: how often the kernel has taken it off its processor; None where the kernel does not count
    switches: int | None = None

    @property
    def naps(self) -> bool:
        """Whether it sleeps for a fixed time: it will wake by itself, whatever others do."""
        return self.wchan in _TIMED_SLEEPS

    def naps_on(self, motion: Motion | None) -> bool:
        """Whether it sleeps for a fixed time, or has just woken from that and waits for a processor."""
        return self.naps or (self.state == "R" and motion is not None and motion.napped)


#: kernel functions in which a pipe's reader waits for bytes and its writer for room (fs/pipe.c)
_IN_PIPE = frozenset({"pipe_read", "anon_pipe_read", "pipe_write", "anon_pipe_write"})
#: kernel functions in which nanosleep(2) and clock_nanosleep(2) wait (kernel/time/hrtimer.c)
_TIMED_SLEEPS = frozenset({"hrtimer_nanosleep", "do_nanosleep", "common_nsleep"})


@dataclass(frozen=True, slots=True)
class Descriptor:
    """An open file of a process that it may wait on."""

    number: int
    #: "file", "pipe", "socket", "tty", "other"
    kind: str
    #: path, or "tcp 10.0.0.1:443 ESTABLISHED", "udp 10.0.0.1:53", "unix /run/x.sock", or "pipe:[1234]"
    target: str
    #: this end of a TCP or UDP socket, "10.0.0.2:41000"
    local: str = ""


@dataclass(frozen=True, slots=True)
class LockFile:
    """A file that a thread polls until it is removed, with its state in the file system at the time of the sample."""

    path: str
    #: UNKNOWN if the file system did not answer in time, or with an error
    exists: Observed
    #: seconds since the epoch, None if it does not exist or is not known
    modified: float | None = None
    #: processes that hold a kernel lock on it, or else those that have it open
    holders: tuple[Holder, ...] = ()
    #: why the list may be incomplete, "" if it is complete
    unseen: str = ""


@dataclass(frozen=True, slots=True)
class ProcessState:
    """One sample of /proc for one process. `time` is CLOCK_MONOTONIC seconds."""

    time: float
    state: str
    cpu_seconds: float
    #: bytes read and written through system calls; None where /proc/<pid>/io is not readable
    io_bytes: int | None
    threads: tuple[ThreadState, ...] = ()
    descriptors: tuple[Descriptor, ...] = ()
    #: lock files that the process polls for, as its page states
    lock_files: tuple[LockFile, ...] = ()

    def thread(self, os_id: int) -> ThreadState | None:
        return next((thread for thread in self.threads if thread.os_id == os_id), None)

    def io_since(self, earlier: ProcessState, os_id: int) -> int:
        """Bytes that a thread read and wrote since `earlier`, 0 if that is not known.

        At least 1 where the kernel hides how many they are, but shows that it has woken the thread inside of a pipe.
        """
        before, now = earlier.thread(os_id), self.thread(os_id)
        if before is None or now is None:
            return 0
        if before.io_bytes is None or now.io_bytes is None:
            return int(before.wchan == now.wchan and now.wchan in _IN_PIPE and before.switches != now.switches)
        return max(0, now.io_bytes - before.io_bytes)


@dataclass(frozen=True, slots=True)
class Motion:
    """What changed in a process between two samples."""

    seconds: float
    cpu_seconds: float
    io_bytes: int
    #: a thread's innermost lines differ; UNKNOWN if the stacks of one sample are missing
    lines_moved: Observed
    #: the page's revision differs; UNKNOWN if a page is missing
    page_moved: Observed
    #: bytes that the main thread itself read and wrote; the probe does so in a thread of its own
    main_io_bytes: int = 0
    #: a child began or ended
    children_changed: bool = False
    #: the main thread slept for a fixed time in a sample before the last one
    napped: bool = False

    @property
    def io_rate(self) -> float:
        """Bytes per second that all threads read and wrote."""
        return self.io_bytes / self.seconds if self.seconds > 0 else float(self.io_bytes)

    @property
    def cpu_share(self) -> float:
        """Cores in use, 1.0 is one core."""
        return self.cpu_seconds / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Exit:
    """An exit as the parent process saw it: a negative status is a signal. `time` is CLOCK_MONOTONIC seconds.

    Where no parent told it, the status is what the zombie or the page says, and None if neither is left.
    """

    pid: int
    status: int | None
    time: float
    #: the signal that its parent itself had sent it before, None for none
    told: int | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """A signal that `watch` was sent and passed on to the job. `time` is CLOCK_MONOTONIC seconds."""

    number: int
    time: float


@dataclass(frozen=True, slots=True)
class JobEnd:
    """How the command that was watched ended: a negative status is a signal."""

    status: int
    sent: tuple[Sent, ...] = ()


@dataclass(frozen=True, slots=True)
class Child:
    """A child of a rank: DataLoader worker, compiler, shell."""

    worker: Worker
    process: ProcessState | None
    stacks: Stacks | None
    motion: Motion | None
