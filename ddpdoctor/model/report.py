"""The report: the input of every renderer, and what `--json` writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ddpdoctor.model.desync import Desync
from ddpdoctor.model.diagnosis import Deadlock, Diagnosis, Location, Outcome
from ddpdoctor.model.evidence import Gap, SourceFile
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.model.waited import Waited

SCHEMA = "ddpdoctor.report/2"
#: 1 had no desync
READABLE = ("ddpdoctor.report/1", SCHEMA)


@dataclass(frozen=True, slots=True)
class RankStatus:
    """The state of one rank in one line: what it is doing and where."""

    rank: Rank
    #: "waiting", "working", "stopped", "exited", "unclear", "unseen"
    state: str
    #: what it is in, as readers see it: "all_reduce seq 8", "exit status 0", "stopped by a signal"
    label: str
    location: Location | None
    #: index into Report.stacks' leaves; -1 without a stack
    stack: int
    #: where it runs, "" in a job that was seen on one host
    host: str = ""


@dataclass(frozen=True, slots=True)
class StackNode:
    """A node of the merged stacks: the ranks whose main thread is in this frame; the root is the outermost frame."""

    site: Site
    ranks: RankSet
    children: tuple[StackNode, ...] = ()


@dataclass(frozen=True, slots=True)
class Frontier:
    """The last operation that a set of ranks entered in a group."""

    ranks: RankSet
    seq: int
    op: str
    finished: bool


@dataclass(frozen=True, slots=True)
class GroupReport:
    name: str
    label: str
    members: RankSet
    frontiers: tuple[Frontier, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Seconds since the start of the job; None for what did not happen."""

    last_progress: float | None
    detected: float | None
    reported: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """A verdict, with everything that a renderer needs, so that renderers are pure."""

    outcome: Outcome
    deadlock: Deadlock
    diagnoses: tuple[Diagnosis, ...]
    ranks: tuple[RankStatus, ...]
    groups: tuple[GroupReport, ...]
    stacks: tuple[StackNode, ...]
    gaps: tuple[Gap, ...]
    timeline: Timeline
    command: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    #: diagnoses that could not be considered: code -> what was missing
    not_considered: Mapping[str, str] = field(default_factory=dict)
    #: the files that locations name, for code frames; written to JSON as the lines around each location
    code: Mapping[str, SourceFile] = field(default_factory=dict)
    #: what the reader must know about the capture itself, such as "resumed after capture"
    notes: tuple[str, ...] = ()
    #: the shift between ranks that was told before, or that this report tells; None if none was seen
    desync: Desync | None = None
    #: who waited for whom; None if that was not followed
    waited: Waited | None = None
    schema: str = SCHEMA
