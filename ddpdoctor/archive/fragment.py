"""A fragment: one thing read from a file, or from a passage of it, with the rank it belongs to and how that is
known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ddpdoctor.model.collectives import Recorder
from ddpdoctor.model.processes import ProcessState
from ddpdoctor.model.progress import Page, Raised
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site, Stacks


class Format(Enum):
    """A file's format, detected from its content; the value is its name in reports."""

    PAGE = "page of a rank"
    RECORDER_PICKLE = "recorder dump (pickle)"
    RECORDER_JSON = "recorder dump (JSON)"
    PYSPY_JSON = "py-spy dump (JSON)"
    PROCESS = "process state"
    ERROR_FILE = "torchrun's error file"
    #: logs, stacks as text, backtraces: any text may contain any of them
    TEXT = "text"


class RankSource(Enum):
    """How the rank of a fragment is known, the most reliable source first."""

    CONTENT = "content"
    #: another fragment of the same process states it
    PROCESS = "process id"
    NAME = "file name"
    #: the launcher's prefix; equals the global rank on a single node
    LOCAL = "local rank"
    #: launchers start ranks in the order of their numbers, and process ids rise
    ORDER = "order of process ids"
    #: the number that srun gave the task
    TASK = "srun's task"
    #: nothing names a rank: numbered in the order of appearance
    TEXT_ORDER = "order of the text"


@dataclass(frozen=True, slots=True)
class CollectiveTimeout:
    """A log line about a collective that this rank gave up, after a timeout or because a peer's collective did not
    match."""

    #: canonical c10d name
    op: str
    #: None where this version of torch wrote none
    seq: int | None
    #: the group's name, "" if the line does not state it
    group: str = ""
    description: str = ""
    numel_in: int | None = None
    numel_out: int | None = None
    milliseconds: int | None = None
    #: sequence numbers of the newest collective that the rank issued and of the newest that it finished
    enqueued: int | None = None
    completed: int | None = None
    #: the rank within the group, if the line states that; it may differ from the global rank
    rank_in_group: int | None = None
    #: where the user's code issued it, if the log has the stack
    site: Site | None = None


@dataclass(frozen=True, slots=True)
class WorkerExit:
    """A worker's exit as the launcher reported it; a negative status is a signal."""

    status: int
    local_rank: int | None = None
    host: str = ""
    #: seconds since the epoch, None if not stated
    time: float | None = None
    raised: Raised | None = None


@dataclass(frozen=True, slots=True)
class MissingPeers:
    """A rank's own log line that says it waits for its peers, and which of them are missing if it names them."""

    op: str
    #: ranks that the line names as missing
    named: tuple[Rank, ...] = ()
    #: for a rendezvous: how many ranks have arrived, and the store key they meet at
    arrived: int | None = None
    key: str = ""


@dataclass(frozen=True, slots=True)
class StuckWatchdog:
    """The NCCL watchdog thread itself is blocked: in a call of CUDA or NCCL, or waiting for the GIL."""

    #: whole seconds without a heartbeat, None if the line does not state it
    seconds: int | None = None


@dataclass(frozen=True, slots=True)
class FatalSignal:
    """What faulthandler wrote after a signal that ended the process."""

    text: str
    #: the signal as an exit status, None if the text names none
    status: int | None = None


@dataclass(frozen=True, slots=True)
class RankMention:
    """A rank that a text shows to exist, without other information that matters for a diagnosis."""

    #: the most serious thing it reported, "" for nothing of interest
    warning: str = ""
    #: which program reported it
    by: str = "NCCL"
    #: known only from the name of a file without relevant content
    silent: bool = False


Payload = (
    Recorder
    | Stacks
    | Page
    | ProcessState
    | Raised
    | CollectiveTimeout
    | WorkerExit
    | MissingPeers
    | StuckWatchdog
    | FatalSignal
    | RankMention
)


@dataclass(frozen=True, slots=True)
class Fragment:
    """One thing that was read."""

    #: the file's path as reports show it
    name: str
    format: Format
    payload: Payload
    rank: Rank | None = None
    rank_from: RankSource | None = None
    pid: int | None = None
    world_size: int | None = None
    #: seconds since the epoch when it was written, if the content states it
    time: float | None = None
