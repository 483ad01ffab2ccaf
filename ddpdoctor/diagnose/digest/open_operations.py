"""Unfinished operations in the ranks' recorders: which other ranks have entered them, and in which group."""

from __future__ import annotations

from collections.abc import Mapping

from ddpdoctor.diagnose.digest import operations
from ddpdoctor.model.collectives import Call, Kind, RecorderEntry
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.ranks import Group, Rank, RankSet


def entry_of(rank: RankEvidence, call: Call) -> RecorderEntry | None:
    """The recorder's entry that the call waits for.

    For a synchronous call it is the newest entry of its thread. If the thread waits for an earlier asynchronous
    operation, or several threads communicate, the oldest candidate is taken: a rank missing there is missing from all.
    """
    name = call.group.name if call.group else None
    entries = [entry for entry in open_entries(rank) if name is None or entry.group == name]
    candidates = [entry for entry in entries if operations.belongs(entry, call.op)]
    if not candidates:
        return entries[0] if len(entries) == 1 and call.kind is Kind.WAIT else None
    threads = len(rank.page.communicating_threads) if rank.page else 0
    return candidates[0] if call.kind is Kind.WAIT or threads > 1 else candidates[-1]


def needed(kind: Kind, rank: Rank, root: Rank | None, absent: RankSet) -> RankSet:
    """Members that the operation needs, out of those that have not entered it.

    A non-root rank needs its root, the root of a reduction needs all. Which others a rank needs is not known (gloo
    sends along a tree); but if nobody else is inside the operation, it must be one of those that have not entered.
    """
    if kind is Kind.ALL:
        return absent
    if kind is Kind.FROM_ROOT:
        return RankSet.of([root]) if root is not None and root != rank and root in absent else RankSet()
    return absent if root == rank else RankSet()


def entered(member: RankEvidence | None, group: Group, entry: RecorderEntry) -> bool:
    """Whether the member's own last operation has reached this one. A member that has ended takes no further part."""
    if member is None:
        return True  # unknown is not absent
    if member.recorder is None:
        return member.exit is None
    last = member.recorder.last(group.name)
    return last is not None and last.seq >= entry.seq


def differs(member: RankEvidence, group: Group, entry: RecorderEntry) -> bool:
    """Whether the member's operation at this position of the group is, or was, another one: it can never join ours."""
    theirs = member.recorder.at(group.name, entry.seq) if member.recorder else None
    return theirs is not None and theirs.op != "" and operations.family(theirs.op) != operations.family(entry.op)


def is_open(member: RankEvidence, group: Group, entry: RecorderEntry) -> bool:
    """Whether the member is inside the same operation and has not finished it."""
    theirs = member.recorder.at(group.name, entry.seq) if member.recorder else None
    return theirs is not None and not theirs.retired


def open_entries(rank: RankEvidence) -> tuple[RecorderEntry, ...]:
    """The operations that the rank has begun and not finished, oldest first."""
    return rank.recorder.outstanding() if rank.recorder else ()


def group_named(evidence: Evidence, rank: RankEvidence, name: str) -> Group | None:
    """The rank's group of that name, from another page if the rank's own is missing."""
    if rank.recorder and (own := next((g for g in rank.recorder.groups if g.name == name and g.members), None)):
        return own
    pages = [rank.page, *(other.page for other in evidence.ranks)]
    known: Mapping[str, Group] = {
        group.name: group for page in reversed(pages) if page for group in page.groups if rank.rank in group.members
    }
    if name not in known and name == "0":
        return Group("0", tuple(Rank(r) for r in range(evidence.world_size)), "default_pg")
    return known.get(name)
