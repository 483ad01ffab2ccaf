"""The content of a probe's page: counters, calls in flight, history, heartbeat, how the process ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ddpdoctor.model.collectives import Call
from ddpdoctor.model.ranks import Group, Rank
from ddpdoctor.model.stacks import NotedStacks, Site


@dataclass(frozen=True, slots=True)
class LoaderCount:
    """Batches that data iterators created at one place delivered, and how often they were exhausted."""

    site: Site
    delivered: int
    stops: int
    #: iterators that were created there, 0 if that was not counted
    made: int = 0
    #: batches that the newest of them has, None if that is not known
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Counters:
    """Counts since the process created its page; they only increase."""

    loaders: tuple[LoaderCount, ...] = ()
    #: forwards of DDP, FSDP roots and DeepSpeed engines that synchronise gradients
    forwards: int = 0
    forwards_no_sync: int = 0
    backward_entered: int = 0
    backward_left: int = 0
    optimizer_steps: int = 0

    @property
    def delivered(self) -> int:
        return sum(loader.delivered for loader in self.loaders)

    @property
    def stops(self) -> int:
        return sum(loader.stops for loader in self.loaders)


class EventKind(Enum):
    CALL = "call"
    NEXT = "next"
    STOP_ITERATION = "stop_iteration"
    FORWARD = "forward"
    FORWARD_NO_SYNC = "forward_no_sync"
    BACKWARD = "backward"
    OPTIMIZER_STEP = "optimizer_step"
    #: a data iterator raised something other than StopIteration
    NEXT_RAISED = "next_raised"


#: calls that prepare communication; a main thread that only made these leaves the training to another thread
_SETUP = frozenset({"init_process_group", "new_group"})


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the history ring, written when the event began."""

    #: number of the event in this process; the ring keeps the newest events
    index: int
    kind: EventKind
    #: CLOCK_MONOTONIC seconds
    time: float
    thread: int
    #: the line of the job's own code; for an event of a data iterator, the line that created it
    site: Site | None
    #: set for CALL events
    call: Call | None = None
    #: the frames outside torch that led to it, innermost first; empty if they were not recorded
    path: tuple[Site, ...] = ()
    #: of a forward or backward, the group in which its model's gradients are averaged
    group: Group | None = None
    #: of a backward, whether DDP averages gradients in it; None if that is not known
    reduces: bool | None = None


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception: one that ended the process, or one that is being handled, for example by a `finally:` block."""

    type: str
    message: str
    #: CLOCK_MONOTONIC seconds when it was first seen
    time: float
    #: where it was raised, innermost first, user and library frames alike
    frames: tuple[Site, ...]
    #: the traceback as Python prints it
    traceback: str = ""
    #: exceptions that were being handled when it was raised, the oldest first; without chains of their own
    before: tuple[Raised, ...] = ()


class EndKind(Enum):
    NORMAL = "normal"
    EXCEPTION = "exception"
    SIGNAL = "signal"

    @property
    def status(self) -> int | None:
        """The interpreter's exit status after such an end, None if it depends on more."""
        return {EndKind.NORMAL: 0, EndKind.EXCEPTION: 1}.get(self)


@dataclass(frozen=True, slots=True)
class Ending:
    """How the process stated that it ended (what the kernel reported is in Exit)."""

    kind: EndKind
    time: float
    raised: Raised | None = None


@dataclass(frozen=True, slots=True)
class EndedThread:
    """A thread of a process that lives on, and the exception that ended it."""

    name: str
    raised: Raised
    #: it ended a task that the thread ran for a pool, and nobody has read the task's result; the thread itself goes on
    task: bool = False


@dataclass(frozen=True, slots=True)
class ThreadNumbers:
    """The two numbers of one thread."""

    #: Python's
    ident: int
    #: the kernel's
    os_id: int


@dataclass(frozen=True, slots=True)
class Page:
    """A decoded snapshot of one process's page."""

    pid: int
    #: start time in clock ticks since boot (/proc/<pid>/stat field 22); identifies the process together with pid
    started_ticks: int
    rank: Rank
    world_size: int
    torch_version: str
    backend: str
    #: CLOCK_MONOTONIC seconds of the last heartbeat; it stops while the GIL is held or the process is stopped
    heartbeat: float
    #: CLOCK_MONOTONIC seconds of the last counter, call or event
    moved: float
    #: number of all writes except heartbeats: two equal values mean that nothing has changed
    revision: int
    counters: Counters
    groups: tuple[Group, ...]
    calls: tuple[Call, ...]
    events: tuple[Event, ...]
    #: events that the ring has overwritten
    events_lost: int = 0
    #: there was no room for the names of some places and groups
    texts_lost: bool = False
    #: threads that have ever issued a collective
    communicating_threads: tuple[int, ...] = ()
    #: of threads that called what is hooked
    thread_numbers: tuple[ThreadNumbers, ...] = ()
    #: exceptions being handled (`sys._current_exceptions`) while nothing else was written
    pending: tuple[Raised, ...] = ()
    ending: Ending | None = None
    #: the newest `sys.exit` with a failure status, as a SystemExit; it may have been caught
    leaving: Raised | None = None
    #: threads that an exception has ended, the newest last
    ended_threads: tuple[EndedThread, ...] = ()
    #: unix socket of torch's _WorkerServer, "" if it could not be created
    recorder_socket: str = ""
    #: seconds; the default process group's timeout
    group_timeout: float | None = None
    #: installed packages that the process runs rather than uses: its trainer, where that was pip-installed
    own_packages: tuple[str, ...] = ()
    #: the process's own stacks, taken when nothing else had been written for a while
    stacks: NotedStacks | None = None

    @property
    def training_thread(self) -> int:
        """The kernel's id of the thread that trains.

        That is the main thread (its id is the process's), unless it has made process groups at most: Ray Train and
        executors run the loop in a thread of their own, which is then the one that was last seen at work.
        """
        working = (one.thread for one in reversed(self.events) if one.call is None or one.call.op not in _SETUP)
        newest = next(working, self.pid)
        return self.pid if newest == self.pid or self.pid in working else newest

    def training(self) -> tuple[Event, ...]:
        """The events of the thread that trains, oldest first, with those whose thread is not known."""
        thread = self.training_thread
        return tuple(event for event in self.events if event.thread in (thread, 0))
