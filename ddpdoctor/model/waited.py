"""Who the ranks of a job waited for."""

from __future__ import annotations

from dataclasses import dataclass

from ddpdoctor.model.diagnosis import Location
from ddpdoctor.model.ranks import Rank


@dataclass(frozen=True, slots=True)
class Straggler:
    """A rank for which the others waited, in one group and one kind of meeting."""

    rank: Rank
    #: readers' name of the group
    group: str
    #: what they met in: "backward", "all_reduce"
    meeting: str
    #: in how many of all these meetings it came last, and by how many seconds on average, after the one before it
    last: int
    meetings: int
    seconds: float
    #: what it did meanwhile: "loading data", "between" two lines; and the line to look at
    doing: str = ""
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Waited:
    """How long the ranks of a job waited for each other at the meetings that pages show."""

    #: of the time of all ranks, between the first meeting and the last
    share: float
    #: seconds over which this was measured
    seconds: float
    meetings: int
    #: well above noise, the most important first; empty if nobody stands out
    stragglers: tuple[Straggler, ...] = ()
    #: the host does not wait for the device in these meetings: the lengths of the ranks' own steps were compared, and
    #: `last` counts the longest, `seconds` is by how much, and `share` what all ranks would wait if they waited
    device: bool = False
