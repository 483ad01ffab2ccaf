"""What was seen of a job while it moved, and may become a hang at the end of an epoch."""

from __future__ import annotations

from dataclasses import dataclass

from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.stacks import Site


@dataclass(frozen=True, slots=True)
class EarlySign:
    """Loops over a loader that will not end together, unless the program sees to it."""

    #: code of the hang that it may become
    code: str
    #: the fewer ranks; empty if there is no majority
    culprits: RankSet
    #: where the iterators are made
    site: Site
    #: when the loop's first batches met, or it was first seen that a rank had begun anew, and when that was sure enough
    #: to be told; seconds after the start of the job
    since: float
    told: float
    #: what was seen, and the circumstances in which it does no harm; clauses without a full stop
    said: str
    unless: str
