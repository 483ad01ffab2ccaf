"""Names for the processes that hold a resource which a rank waits for: by their role in the job if they have one."""

from __future__ import annotations

from collections.abc import Iterable

from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.processes import Child, Descriptor, Holder
from ddpdoctor.model.ranks import Rank, RankSet

_LONGEST_COMMAND = 60
_MOST_NAMED = 3


def named(facts: Facts, holder: Holder) -> str:
    """`rank 2`, `thread 'writer' of rank 2`, `process 77 (python serve.py), outside the job`."""
    rank = rank_of(facts, holder)
    if rank is None:
        return f"{_process(holder)}, outside the job"
    seen = facts.rank(rank)
    thread = frames.thread_of(seen, holder.thread) if holder.thread else None
    if holder.pid != seen.worker.pid:
        return f"{_process(holder)}, a child of rank {rank}"
    if holder.thread and holder.thread != seen.thread:
        return f"thread {thread.name if thread and thread.name else holder.thread} of rank {rank}"
    return f"rank {rank} (process {holder.pid})"


def listed(facts: Facts, holders: Iterable[Holder]) -> str:
    """All of them, comma-separated; "" for none."""
    names = list(dict.fromkeys(named(facts, holder) for holder in holders))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return "; ".join(names[:_MOST_NAMED]) + more


def doing(facts: Facts, rank: Rank) -> str:
    """`in all_reduce seq 8`, `idle in load`: the rank's state, to follow "which is"."""
    state = facts.state(rank)
    return f"in {state.label}" if state.activity is Activity.WAITING else state.label


def rank_of(facts: Facts, holder: Holder) -> Rank | None:
    """The rank that the process is, or whose child it is."""
    for seen in facts.evidence.ranks:
        if holder.pid in (seen.worker.pid, *(child.worker.pid for child in seen.children)):
            return seen.rank
    return None


def ranks_among(facts: Facts, holders: Iterable[Holder]) -> RankSet:
    found = (rank_of(facts, holder) for holder in holders)
    return RankSet.of(rank for rank in found if rank is not None)


def child_of(facts: Facts, rank: Rank, holder: Holder) -> Child | None:
    """The holder, if it is a child of this rank."""
    return next((child for child in facts.rank(rank).children if child.worker.pid == holder.pid), None)


def peers(facts: Facts, descriptor: Descriptor, holders: Iterable[Holder], *, by_children: bool = True) -> RankSet:
    """Ranks of the job at the other end of a socket, from the processes found there or from the two addresses;
    `by_children`: also those of which a child has such an address."""
    found = ranks_among(facts, holders)
    parts = descriptor.target.split()
    if not descriptor.local or len(parts) < 2:
        return found
    ends = [
        seen.rank
        for seen in facts.evidence.ranks
        for process in (seen.process, *(child.process for child in seen.children if by_children))
        for other in (process.descriptors if process else ())
        if other.local == parts[1] and other.target.split()[:2] == [parts[0], descriptor.local]
    ]
    return found | RankSet.of(ends)


def _process(holder: Holder) -> str:
    if not holder.name:
        return f"process {holder.pid}, which has exited"
    command = " ".join(holder.command[:4]) or holder.name
    return f"process {holder.pid} ({command[:_LONGEST_COMMAND]})"
