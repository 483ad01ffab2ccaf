"""Everything that a diagnosis is allowed to see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ddpdoctor.model.collectives import Recorder, ReportedWait
from ddpdoctor.model.processes import Child, Exit, Motion, ProcessState
from ddpdoctor.model.progress import Page, Raised
from ddpdoctor.model.ranks import Rank, RankSet, Worker
from ddpdoctor.model.stacks import Stacks


class Source(Enum):
    """Where evidence comes from; what a rule `requires` and what a Gap lacks."""

    PAGES = "pages"
    RECORDER = "recorder"
    STACKS = "stacks"
    PROCESSES = "processes"
    EXITS = "exits"
    FAULTHANDLER = "faulthandler"
    CODE = "code"
    #: files that `diagnose` was given
    FILES = "files"


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that could not be seen. Never the same as something that is not there."""

    source: Source
    rank: Rank | None
    reason: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class RankEvidence:
    """All that is known of one rank; None means not seen, and then a Gap says why."""

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
    #: the exception that ended it, from a log: for a rank that has no page
    raised: Raised | None = None
    #: waits that its log reports, for a rank that has neither page nor stacks
    reported: tuple[ReportedWait, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A source file that a stack or an event names, as it was when the evidence was taken."""

    path: str
    text: str
    #: written after the job started: its lines may not be the ones that run
    changed: bool = False
    #: number of the first line of `text`; above 1 only in a report, which keeps the lines around its locations
    first: int = 1


@dataclass(frozen=True, slots=True)
class Timing:
    """CLOCK_MONOTONIC seconds."""

    started: float
    #: the newest movement of any page
    last_progress: float
    #: when it was decided to look
    detected: float
    #: when the last sample was complete
    collected: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """One look at a job: the ranks in order, what could not be seen, and the code they stand in."""

    world_size: int
    ranks: tuple[RankEvidence, ...]
    timing: Timing
    gaps: tuple[Gap, ...] = ()
    code: Mapping[str, SourceFile] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    #: variable -> "value: why", for everything that watch set
    environment: Mapping[str, str] = field(default_factory=dict)
    #: what the reader must know of how it was read: where ranks' numbers came from
    notes: tuple[str, ...] = ()
    #: stacks were kept because somebody found the job hanging: an idle rank that was looked at once is taken to stand
    reported_hanging: bool = False
    #: something says how many ranks there are; otherwise `world_size` is as many as were seen
    size_known: bool = True
    #: nothing says which rank is which: their numbers only tell them apart
    ranks_unidentified: bool = False
    _by_rank: Mapping[Rank, RankEvidence] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_rank", {seen.rank: seen for seen in reversed(self.ranks)})

    def rank(self, rank: Rank) -> RankEvidence | None:
        return self._by_rank.get(rank)

    def seen(self) -> RankSet:
        """Ranks of which anything at all is known."""
        return RankSet.of(r.rank for r in self.ranks)

    def unseen(self) -> RankSet:
        return RankSet.of(range(self.world_size)) - self.seen()
