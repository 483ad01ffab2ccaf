"""A shift between ranks that has begun while all of them still move."""

from __future__ import annotations

from dataclasses import dataclass

from ddpdoctor.model.diagnosis import Location
from ddpdoctor.model.ranks import RankSet


@dataclass(frozen=True, slots=True)
class Desync:
    """Ranks whose collectives no longer belong to the same place of the program as those of the others."""

    #: those that have shifted; empty if it cannot be told who has (two ranks, or no majority)
    culprits: RankSet
    members: RankSet
    #: readers' name of the group
    group: str
    #: how many collectives the culprits, or else the later ranks, have made more (or fewer, negative) at the same
    #: place; or batches that they have taken more at the same collective, see `counted`
    shift: int
    #: where this is seen, and at which visit of that place (or collective) it began; seconds since the job's start
    seen_at: Location | None
    visit: int
    since: float
    #: what the ranks did differently first: "rank 1 took the next batch where ranks 0 and 2 went on to forward"
    parting: str = ""
    #: the line of it
    location: Location | None = None
    #: code of the fault that such a parting is, "" if it is not known
    code: str = ""
    #: "collectives", "batches" or "turns" of the same loop; "order" if threads have changed places: then `shift` is 0,
    #: and `visit` the collective
    counted: str = "collectives"
