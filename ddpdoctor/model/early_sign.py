"""What was seen of a job while it moved, and may become a hang at the end of an epoch."""

from __future__ import annotations

from dataclasses import dataclass

from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.stacks import Site


@dataclass(frozen=True, slots=True)
class EarlySign:
    """Loops over a loader that will not end together, unless the program sees to it."""

    #: the fewer ranks; empty if there is no majority
    culprits: RankSet
    #: where the iterators are made
    site: Site
    #: seconds after the start of the job
    seen: float
    #: one sentence without a full stop
    said: str
