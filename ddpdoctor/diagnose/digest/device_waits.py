"""Pure. Ranks that wait in the queue of their GPU: on NCCL a process goes on when it has launched a collective.

It stands still only where it needs a result (`loss.item()`, a copy to the host, a print) or where the queue is full, in
a line that communicates nothing, and it spins there with all of a core. What it waits for is the oldest collective that
its GPU has not finished.
"""

from __future__ import annotations

from ddpdoctor.model.collectives import RecorderEntry
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.ranks import Group, RankSet


def unfinished(rank: RankEvidence) -> RecorderEntry | None:
    """The collective in which the GPU of a rank that stands still is; None where it has none, or the rank moves on.

    Only for a rank that has a page and is in none of the waits that its page and stack show. A rank that is held up by
    something of its own has none: those that it has launched are finished as soon as the others come to them.
    """
    motion = rank.motion
    if rank.recorder is None or rank.exit is not None or motion is None:
        return None
    if motion.page_moved is not Observed.NO or motion.lines_moved is Observed.YES:
        return None
    return next((entry for entry in rank.recorder.outstanding() if "nccl" in entry.backend), None)


def held_elsewhere(evidence: Evidence, group: Group, entry: RecorderEntry) -> RankSet:
    """Members that have launched the operation too, while their GPU is still in an older one of another group.

    One collective runs after the other, as long as the program waits for each.
    """
    found = []
    for member in group.members:
        rank = evidence.rank(member)
        older = unfinished(rank) if rank else None
        launched = rank.recorder.at(entry.group, entry.seq) if rank and rank.recorder else None
        if older is not None and older.group != entry.group and launched is not None and not launched.retired:
            found.append(member)
    return RankSet.of(found)
