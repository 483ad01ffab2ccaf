"""A report with what its pictures show: the waits between ranks, where they parted, and the evidence itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.recorder_set import RecorderSet
from ddpdoctor.model.report import Report


@dataclass(frozen=True, slots=True)
class Edge:
    """The ranks that one rank waits for."""

    rank: Rank
    targets: RankSet
    #: one of them is enough (a receive from any source)
    any_of: bool = False
    #: proven: it cannot continue
    stuck: bool = False


@dataclass(frozen=True, slots=True)
class Exhibit:
    """The input of the renderers that draw. With the report alone, what needs evidence is left out."""

    report: Report
    evidence: Evidence | None = None
    edges: tuple[Edge, ...] = ()
    #: ranks among which edges were looked for, some of every behaviour; 0 for all
    compared: int = 0
    #: CLOCK_MONOTONIC seconds at which a rank began what others did not do, or others went on without it
    partings: Mapping[Rank, float] = field(default_factory=dict)
    recorders: RecorderSet | None = None
    #: files of the stacks that the job uses rather than runs: of the standard library, of libraries
    installed: frozenset[str] = frozenset()
