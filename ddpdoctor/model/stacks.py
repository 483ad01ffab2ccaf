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

    os_id: int
    name: str
    frames: tuple[Site, ...]
    #: running on a core rather than asleep, as py-spy judges it
    active: Observed = Observed.UNKNOWN
    owns_gil: Observed = Observed.UNKNOWN
    #: what was kept of its frames' locals; only `dump` asks for them
    locals: tuple[Local, ...] = ()

    def local(self, frame: int, name: str) -> Local | None:
        """The local of this name in the frame with this index, None if it was not kept."""
        return next((one for one in self.locals if (one.frame, one.name) == (frame, name)), None)


class StackSource(Enum):
    """How the stacks were obtained, the best source first."""

    PYSPY = "py-spy"
    PYSPY_NONBLOCKING = "py-spy --nonblocking"
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

    def main(self) -> Thread | None:
        """The main thread, None if it has no Python frames (a stopped process, or one that is exiting)."""
        return next((t for t in self.threads if t.name == "MainThread"), None)
