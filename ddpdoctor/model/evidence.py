"""Everything that a diagnosis is based on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ddpdoctor.model.collectives import Recorder, ReportedWait
from ddpdoctor.model.course import Course
from ddpdoctor.model.processes import Child, Exit, JobEnd, Motion, ProcessState
from ddpdoctor.model.progress import Page, Raised
from ddpdoctor.model.ranks import Rank, RankSet, Worker
from ddpdoctor.model.stacks import Stacks


class Source(Enum):
    """A source of evidence: what a rule `requires`, and what a Gap is missing."""

    PAGES = "pages"
    RECORDER = "recorder"
    STACKS = "stacks"
    PROCESSES = "processes"
    EXITS = "exits"
    FAULTHANDLER = "faulthandler"
    CODE = "code"
    #: files given to `diagnose`
    FILES = "files"
    #: the watchers of other nodes
    NODES = "nodes"


@dataclass(frozen=True, slots=True)
class Gap:
    """Evidence that could not be collected, which is different from evidence that something is absent."""

    source: Source
    rank: Rank | None
    reason: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class RankEvidence:
    """All that is known of one rank; None means not seen, and then a Gap states why."""

    rank: Rank
    worker: Worker
    page: Page | None = None
    recorder: Recorder | None = None
    stacks: Stacks | None = None
    process: ProcessState | None = None
    #: None with a single sample
    motion: Motion | None = None
    exit: Exit | None = None
    children: tuple[Child, ...] = ()
    #: text of the process's faulthandler file, "" if nothing was written
    fatal: str = ""
    #: the exception that ended the process, from a log; for a rank without a page
    raised: Raised | None = None
    #: waits that the rank's log reports; for a rank with neither page nor stacks
    reported: tuple[ReportedWait, ...] = ()

    @property
    def thread(self) -> int:
        """The kernel's id of the thread that is the rank: the one that trains, the main thread if that is not known."""
        return self.page.training_thread if self.page else self.worker.pid


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A source file that a stack or an event names, as it was when the evidence was collected."""

    path: str
    text: str
    #: modified after the job started: its lines may not be the ones that run
    changed: bool = False
    #: line number of the first line of `text`; above 1 only in a report, which keeps the lines around its locations
    first: int = 1


@dataclass(frozen=True, slots=True)
class Timing:
    """CLOCK_MONOTONIC seconds."""

    started: float
    #: the newest movement of any page
    last_progress: float
    #: when it was decided to collect evidence
    detected: float
    #: when the last sample was complete
    collected: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """One capture of a job: the ranks in order, what could not be seen, and the source code of their places."""

    world_size: int
    ranks: tuple[RankEvidence, ...]
    timing: Timing
    gaps: tuple[Gap, ...] = ()
    code: Mapping[str, SourceFile] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    #: variable -> "value: why", for everything that `watch` set
    environment: Mapping[str, str] = field(default_factory=dict)
    #: what the reader must know about how the evidence was read, such as where rank numbers came from
    notes: tuple[str, ...] = ()
    #: processes on this machine that the kernel has killed for memory since the job was started
    memory_kills: int = 0
    #: how the watched command ended, None while it runs and for what was not watched
    end: JobEnd | None = None
    #: the stacks were saved because somebody found the job hanging: an idle rank with one sample counts as blocked
    reported_hanging: bool = False
    #: the number of ranks is stated somewhere; otherwise `world_size` is the number of ranks that were seen
    size_known: bool = True
    #: rank numbers were assigned by order of appearance and only distinguish the ranks
    ranks_unidentified: bool = False
    #: the host of each rank, where several nodes were looked at
    hosts: Mapping[Rank, str] = field(default_factory=dict)
    #: what was seen of the job while it moved
    course: Course = field(default_factory=Course)
    _by_rank: Mapping[Rank, RankEvidence] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_rank", {seen.rank: seen for seen in reversed(self.ranks)})

    def rank(self, rank: Rank) -> RankEvidence | None:
        return self._by_rank.get(rank)

    def seen(self) -> RankSet:
        """Ranks of which anything is known."""
        return RankSet.of(r.rank for r in self.ranks)

    def without_history(self) -> RankSet:
        """Ranks that were seen and whose page was not: what they did before is not known."""
        return RankSet.of(rank.rank for rank in self.ranks if rank.page is None)

    def unseen(self) -> RankSet:
        return RankSet.of(range(self.world_size)) - self.seen()
