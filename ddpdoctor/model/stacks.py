"""Python stacks and places in source."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """A place in source that a thread stands at or called from."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread's Python frames, innermost first."""

    os_id: int
    name: str
    frames: tuple[Site, ...]
    #: py-spy's view: running on a core rather than asleep; None from a source that cannot tell
    active: bool | None = None
    owns_gil: bool | None = None


class StackSource(Enum):
    """The step of the capture ladder that gave the stacks, best first."""

    PYSPY = "py-spy"
    PYSPY_NONBLOCKING = "py-spy --nonblocking"
    FAULTHANDLER = "faulthandler"
    #: gdb's py-bt, pystack
    DEBUGGER = "debugger"
    #: the traceback of an exception that says that a wait took too long
    TRACEBACK = "traceback"


@dataclass(frozen=True, slots=True)
class Stacks:
    """All Python threads of one process at one moment."""

    source: StackSource
    threads: tuple[Thread, ...]

    def main(self) -> Thread | None:
        """The main thread, None where it has no Python frames (a stopped process, a process on its way out)."""
        return next((t for t in self.threads if t.name == "MainThread"), None)
