"""Pure. From what on a rank that comes last is told: well above what chance does."""

from __future__ import annotations

#: what is told: a rank came last so often, by so many seconds, and took so much of the time of the others
FEWEST, SHORTEST, LEAST_SHARE = 10, 0.003, 0.03
#: share of the meetings in which chance alone does not make one rank of several the last
OFTEN = 0.15


def is_told(late: int, seconds: float, met: int, observed: float) -> bool:
    """Whether a rank that was the last at so many of all meetings, by so many seconds together, stands out.

    `observed`: seconds over which the meetings were seen.
    """
    return late >= FEWEST and late >= OFTEN * met and seconds >= LEAST_SHARE * observed
