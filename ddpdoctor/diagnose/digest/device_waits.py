"""Ranks that wait for their GPU's queue. With NCCL, a call returns once the collective is queued on the GPU. Pure.

The process blocks only where it needs a result (`loss.item()`, a copy to the host, a print) or where the queue is full.
That line need not communicate anything, and the process keeps one core busy there. What it waits for is the oldest
collective that its GPU has not finished.
"""

from __future__ import annotations

from ddpdoctor.diagnose.digest import frames
from ddpdoctor.model.collectives import RecorderEntry
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.ranks import Group, RankSet
from ddpdoctor.model.torch_internals import Meaning, shows

_NCCL = "nccl"


def is_on_device(entry: RecorderEntry) -> bool:
    return _NCCL in entry.backend


def unfinished(rank: RankEvidence) -> RecorderEntry | None:
    """The collective in which the GPU of a blocked rank is; None if there is none or the rank makes progress.

    Only for a rank that has a page and is in none of the waits that its page and stack show. A rank that is delayed by
    something of its own has no such collective: those it has launched finish as soon as the others reach them.
    """
    return next((entry for entry in _on_device(rank) if not entry.p2p), None)


def unanswered(rank: RankEvidence) -> tuple[RecorderEntry, ...]:
    """The messages in which the GPU of a blocked rank is, issued together; empty where it is in a collective or in
    nothing. With NCCL a send, too, returns before it is taken."""
    entries = _on_device(rank)
    return entries if entries and entries[0].p2p else ()


def _on_device(rank: RankEvidence) -> tuple[RecorderEntry, ...]:
    """The oldest unfinished operations on the GPU of a rank that stands."""
    if rank.recorder is None or not _stands(rank):
        return ()
    found = [*filter(is_on_device, (*rank.recorder.outstanding(), *rank.recorder.unanswered()))]
    first = min(found, key=lambda entry: entry.created_ns, default=None)
    return tuple(entry for entry in found if entry is first or (entry.p2p and first is not None and first.p2p))


def _stands(rank: RankEvidence) -> bool:
    motion = rank.motion
    if rank.exit is not None or motion is None:
        return False
    return motion.page_moved is Observed.NO and motion.lines_moved is not Observed.YES


def destroys_communicators(rank: RankEvidence) -> bool:
    """Whether the rank is destroying NCCL's communicators, for which it keeps a core busy until all other ranks of the
    node do so ("an intra-node collective call": NCCL's user guide on ncclCommDestroy; seen on NCCL 2.31)."""
    main = frames.main_thread(rank)
    motion = rank.motion
    if main is None or not main.frames or rank.exit is not None:
        return False
    if motion is not None and Observed.YES in (motion.page_moved, motion.lines_moved):
        return False
    top = main.frames[0]
    return shows(top.file, top.function, Meaning.DESTROYS) and _uses_nccl(rank)


def _uses_nccl(rank: RankEvidence) -> bool:
    if rank.page is not None and _NCCL in rank.page.backend:
        return True
    if rank.recorder is not None and any(map(is_on_device, rank.recorder.entries)):
        return True
    threads = rank.process.threads if rank.process else ()
    return any(_NCCL in thread.name for thread in threads)


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
