"""Python stacks and places in source."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ddpdoctor.model.observed import Observed


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """A place in source where a thread is, or from which it made a call."""

    file: str
    line: int
    function: str

    @property
    def plain_function(self) -> str:
        """The function's name without its class, which not every source of frames gives."""
        return self.function.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Local:
    """A number in a frame: of torch's frames those of a fixed table, of the job's own the counters of its loops."""

    #: index in `Thread.frames`
    frame: int
    name: str
    #: None for Python's None; True is 1
    value: int | None


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread's Python frames, innermost first."""

    #: the kernel's number, 0 if it is not known
    os_id: int
    name: str
    frames: tuple[Site, ...]
    #: running on a core rather than asleep, as py-spy judges it
    active: Observed = Observed.UNKNOWN
    owns_gil: Observed = Observed.UNKNOWN
    #: what was kept of its frames' locals; empty where nobody asked for them, or py-spy could not be asked
    locals: tuple[Local, ...] = ()
    #: of a stack that its own process took: whether the thread has not run since
    rested: Observed = Observed.UNKNOWN
    #: Python's number, 0 if it is not known
    ident: int = 0

    def local(self, frame: int, name: str) -> Local | None:
        """The local of this name in the frame with this index, None if it was not kept."""
        return next((one for one in self.locals if (one.frame, one.name) == (frame, name)), None)


class StackSource(Enum):
    """How the stacks were obtained, the best source first."""

    PYSPY = "py-spy"
    PYSPY_NONBLOCKING = "py-spy --nonblocking"
    #: by a thread of the process itself, while nothing moved
    PROBE = "probe"
    FAULTHANDLER = "faulthandler"
    #: gdb's py-bt, pystack
    DEBUGGER = "debugger"
    #: the traceback of an exception which says that a wait took too long
    TRACEBACK = "traceback"


@dataclass(frozen=True, slots=True)
class Stacks:
    """All Python threads of one process at one moment."""

    source: StackSource
    threads: tuple[Thread, ...]
    #: seconds since they were taken, if that was not at the time of the sample
    age: float = 0.0

    def main(self) -> Thread | None:
        """The main thread, None if it has no Python frames (a stopped process, or one that is exiting)."""
        return next((t for t in self.threads if t.name == "MainThread"), None)


@dataclass(frozen=True, slots=True)
class NotedThread:
    """A thread as its own process described it."""

    os_id: int
    name: str
    #: innermost first; the middle of a deep stack is left out
    frames: tuple[Site, ...]
    #: how often the kernel had taken it off its processor before the stack was taken, None if that is not known
    switches: int | None = None
    #: kernel function in which it slept, "" if the kernel did not say
    wchan: str = ""
    #: its line of /proc/<pid>/task/<tid>/syscall, "" if the kernel did not say
    call: str = ""
    #: what the first argument of that call is open on, if it is a file descriptor
    target: str = ""


@dataclass(frozen=True, slots=True)
class NotedStacks:
    """The threads of a process as it described them itself."""

    #: CLOCK_MONOTONIC seconds when they were taken, and when the process last found that it stood there still
    time: float
    seen: float
    #: the page's revision at that time, None for a process without a page
    revision: int | None
    threads: tuple[NotedThread, ...]
