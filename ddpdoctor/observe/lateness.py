"""Pure. From what on a rank that comes last is told: well above what chance does; and at which line."""

from __future__ import annotations

from ddpdoctor.model.diagnosis import Location
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site

#: what is told: a rank came last so often, by so many seconds, and took so much of the time of the others
FEWEST, SHORTEST, LEAST_SHARE = 10, 0.003, 0.03
#: share of the meetings in which chance alone does not make one rank of several the last
OFTEN = 0.15


def is_told(late: int, seconds: float, met: int, observed: float) -> bool:
    """Whether a rank that was the last at so many of all meetings, by so many seconds together, stands out.

    `observed`: seconds over which the meetings were seen.
    """
    return late >= FEWEST and late >= OFTEN * met and seconds >= LEAST_SHARE * observed


def line_of(rank: int, site: Site | None) -> Location | None:
    """The line of a rank that was late, if it is known."""
    return Location(RankSet((Rank(rank),)), site.file, site.line, site.function) if site else None
