"""What the kernel says of a process: state, motion between two samples, exit."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ddpdoctor.model.ranks import Worker
from ddpdoctor.model.stacks import Stacks


class Relation(Enum):
    """What a process has to do with what another one waits on."""

    #: holds the lock
    OWNER = "owner"
    #: has the file of a lock open; whether it holds the lock is not known
    OPENER = "opener"
    READER = "reader"
    WRITER = "writer"
    #: the other end of a socket
    PEER = "peer"
    #: the process whose end is waited for
    AWAITED = "awaited"


@dataclass(frozen=True, slots=True)
class Holder:
    """A process, of the job or not, that has to do with what a thread waits on."""

    pid: int
    relation: Relation
    #: the kernel's name of it, "" where it is gone
    name: str = ""
    command: tuple[str, ...] = ()
    #: the thread of it that owns the lock, None where only the process is known
    thread: int | None = None


@dataclass(frozen=True, slots=True)
class ThreadState:
    os_id: int
    name: str
    #: one letter of /proc/<pid>/task/<tid>/stat: R, S, D, T, t, Z
    state: str
    #: kernel function that it sleeps in, "" where the kernel does not say
    wchan: str
    #: user + system seconds
    cpu_seconds: float
    #: system call that it is inside of, "" where it runs, or where the kernel or our table does not say
    call: str = ""
    #: file descriptor that the call is about
    descriptor: int | None = None
    #: path that the call is about, "" for calls about descriptors
    path: str = ""
    #: who holds what the call waits on; for main threads only
    holders: tuple[Holder, ...] = ()
    #: why there may be more of them, "" where everybody was looked at
    unseen: str = ""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """An open file of a process that may be what it waits on."""

    number: int
    #: "file", "pipe", "socket", "tty", "other"
    kind: str
    #: path, or "tcp 10.0.0.1:443 ESTABLISHED", "udp 10.0.0.1:53", "unix /run/x.sock", or "pipe:[1234]"
    target: str
    #: this end of a TCP or UDP socket, "10.0.0.2:41000"
    local: str = ""


@dataclass(frozen=True, slots=True)
class LockFile:
    """A file whose absence a thread polls for; what the file system said of it when the sample was taken."""

    path: str
    #: None where the file system did not answer in time, or not at all
    exists: bool | None
    #: seconds since the epoch, None where it is not there or not known
    modified: float | None = None
    #: who holds a lock of the kernel's for it, or else who has it open
    holders: tuple[Holder, ...] = ()
    #: why there may be more of them, "" where everybody was looked at
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
    #: lock files that the process says it sleeps for
    lock_files: tuple[LockFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Motion:
    """What changed in a process between two samples."""

    seconds: float
    cpu_seconds: float
    io_bytes: int
    #: a thread's innermost lines differ; None where stacks of one sample are missing
    lines_moved: bool | None
    #: the page's revision differs; None where a page is missing
    page_moved: bool | None

    @property
    def cpu_share(self) -> float:
        """Cores in use, 1.0 is one core."""
        return self.cpu_seconds / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Exit:
    """A true exit as the parent saw it: negative status is a signal. `time` is CLOCK_MONOTONIC seconds."""

    pid: int
    status: int
    time: float


@dataclass(frozen=True, slots=True)
class Child:
    """A child of a rank: DataLoader worker, compiler, shell."""

    worker: Worker
    process: ProcessState | None
    stacks: Stacks | None
    motion: Motion | None
