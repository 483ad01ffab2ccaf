"""What one file, or one passage of a file, says: whose it is, how that is known, and the thing itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ddpdoctor.model.collectives import Recorder
from ddpdoctor.model.processes import ProcessState
from ddpdoctor.model.progress import Page, Raised
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site, Stacks


class Format(Enum):
    """What a file is, told by its content; the value is what a report calls it."""

    PAGE = "page of a rank"
    RECORDER_PICKLE = "recorder dump (pickle)"
    RECORDER_JSON = "recorder dump (JSON)"
    PYSPY_JSON = "py-spy dump (JSON)"
    PROCESS = "process state"
    ERROR_FILE = "torchrun's error file"
    #: logs, stacks as text, backtraces: any text may hold any of them
    TEXT = "text"


class RankSource(Enum):
    """How the rank of a fragment is known, the most reliable first."""

    CONTENT = "content"
    #: another fragment of the same process says it
    PROCESS = "process id"
    NAME = "file name"
    #: the launcher's prefix, which is the job's rank where there is one node
    LOCAL = "local rank"
    #: the order of process ids: launchers start ranks in their order
    ORDER = "order of process ids"
    #: the number that srun gave its task
    TASK = "srun's task"
    #: no line says whose anything is: numbered as it was found
    TEXT_ORDER = "order of the text"


@dataclass(frozen=True, slots=True)
class CollectiveTimeout:
    """A line on a collective of this rank that was given up: by the watchdog, or because another rank's did not fit."""

    #: canonical c10d name
    op: str
    #: None where the torch of that time wrote none
    seq: int | None
    #: the group's name, "" where the line does not say it
    group: str = ""
    description: str = ""
    numel_in: int | None = None
    numel_out: int | None = None
    milliseconds: int | None = None
    #: sequence numbers of the newest collective that the rank issued and finished
    enqueued: int | None = None
    completed: int | None = None
    #: the line stood in a text of which it is the rank in its group, which need not be the rank in the job
    rank_in_group: int | None = None
    #: where the user's code issued it, as far as the log has the stack
    site: Site | None = None


@dataclass(frozen=True, slots=True)
class WorkerExit:
    """A launcher's word on how a worker ended: negative status is a signal."""

    status: int
    local_rank: int | None = None
    host: str = ""
    #: seconds since the epoch, None where it is not said
    time: float | None = None
    raised: Raised | None = None


@dataclass(frozen=True, slots=True)
class MissingPeers:
    """A rank's own line that it waits for all, and whom it misses where it says so."""

    op: str
    #: ranks that the line itself names as missing
    named: tuple[Rank, ...] = ()
    #: for a rendezvous: how many have come, and the key that they come to
    arrived: int | None = None
    key: str = ""


@dataclass(frozen=True, slots=True)
class StuckWatchdog:
    """The watchdog itself stood still: a call of CUDA or NCCL does not return, or the interpreter's lock is held."""

    #: whole seconds without a sign of life, None where the line does not say it
    seconds: int | None = None


@dataclass(frozen=True, slots=True)
class FatalSignal:
    """What faulthandler wrote of a signal that ended the process."""

    text: str
    #: the signal as an exit status, None where the text names none
    status: int | None = None


@dataclass(frozen=True, slots=True)
class RankMention:
    """A rank that a text shows to be there, of which it says nothing else that counts."""

    #: what it said at its worst, "" for nothing of interest
    warning: str = ""
    #: who said so
    by: str = "NCCL"
    #: it is known by nothing but the name of a file that says nothing
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

    #: the file's path as a report shows it
    name: str
    format: Format
    payload: Payload
    rank: Rank | None = None
    rank_from: RankSource | None = None
    pid: int | None = None
    world_size: int | None = None
    #: seconds since the epoch at which it was written, where the content says so
    time: float | None = None
