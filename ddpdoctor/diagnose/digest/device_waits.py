"""Ranks that wait for their GPU's queue. With NCCL, a call returns once the collective is queued on the GPU. Pure.

The process blocks only where it needs a result (`loss.item()`, a copy to the host, a print) or where the queue is full.
That line need not communicate anything, and the process keeps one core busy there. What it waits for is the oldest
collective that its GPU has not finished.
"""

from __future__ import annotations

from ddpdoctor.model.collectives import RecorderEntry
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.ranks import Group, RankSet


def unfinished(rank: RankEvidence) -> RecorderEntry | None:
    """The collective in which the GPU of a blocked rank is; None if there is none or the rank makes progress.

    Only for a rank that has a page and is in none of the waits that its page and stack show. A rank that is delayed by
    something of its own has no such collective: those it has launched finish as soon as the others reach them.
    """
    motion = rank.motion
    if rank.recorder is None or rank.exit is not None or motion is None:
        return None
    if motion.page_moved is not Observed.NO or motion.lines_moved is Observed.YES:
        return None
    return next((entry for entry in rank.recorder.outstanding() if "nccl" in entry.backend), None)


def held_elsewhere(evidence: Evidence, group: Group, entry: RecorderEntry) -> RankSet:
    """Members that have launched the operation too, while their GPU is still in an older one of another group.

    A GPU runs one collective after the other if the program waits for each.
    """
    found = []
    for member in group.members:
        rank = evidence.rank(member)
        older = unfinished(rank) if rank else None
        launched = rank.recorder.at(entry.group, entry.seq) if rank and rank.recorder else None
        if older is not None and older.group != entry.group and launched is not None and not launched.retired:
            found.append(member)
    return RankSet.of(found)
