"""Pending operations: which ranks are in them, which are missing, and which operations wait for one another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ddpdoctor.diagnose.offline.recorder_dumps.ring_summary import RingSummary, summarise
from ddpdoctor.model.ranks import Group, Rank, RankSet
from ddpdoctor.model.recorder_set import Member, RecorderSet, Ring, Step

#: Most pending operations of one group that are examined; the oldest ones.
_MOST_PLACES = 64
#: the name of the group of all ranks
DEFAULT = "0"


@dataclass(frozen=True, slots=True, eq=False)
class PendingOp:
    """One operation that ranks are in: it completes when all ranks that it needs have entered."""

    group: Group
    #: as the first of the waiting ranks recorded it
    step: Step
    waiting: RankSet
    #: have not issued it
    absent: RankSet
    #: have issued it and are in an older operation
    behind: RankSet
    #: left no dump
    unknown: RankSet
    #: each waiting rank's own operation here
    steps: Mapping[Rank, Step]
    #: have completed it, or are so far ahead that they must have
    passed: RankSet

    @property
    def needs(self) -> Iterable[Rank]:
        return (*self.absent, *self.behind)

    @property
    def met(self) -> bool:
        """Whether all ranks have entered and are still in it."""
        return not self.absent and not self.behind and not self.unknown


@dataclass(frozen=True, slots=True, eq=False)
class JobState:
    """All pending operations of a job."""

    recorders: RecorderSet
    ring_summaries: Mapping[Ring, RingSummary]
    pending_ops: tuple[PendingOp, ...]
    #: the operation that each rank is in
    place: Mapping[Rank, PendingOp]
    #: pending operations that wait only for those of their own set: a single one, or a cycle
    sinks: tuple[tuple[PendingOp, ...], ...]

    def ring_summary(self, rank: Rank) -> RingSummary:
        return self.ring_summaries[self.recorders.members[rank].ring]

    def standing(self, rank: Rank) -> bool:
        """Whether the rank left a dump and is in an operation."""
        return rank in self.place

    @property
    def waiting(self) -> RankSet:
        return RankSet.of(self.place)


@dataclass(frozen=True, slots=True, eq=False)
class _Roster:
    """A group's members that left dumps, with the group's position on each of them."""

    group: Group
    roles: Mapping[Rank, int]
    unknown: RankSet


def survey(recorders: RecorderSet) -> JobState:
    """Find all pending operations and what they wait for."""
    ring_summaries: dict[Ring, RingSummary] = {}
    for member in recorders.members.values():
        if member.ring not in ring_summaries:
            ring_summaries[member.ring] = summarise(member.ring)
    pending_ops: list[PendingOp] = []
    for roster in _rosters(recorders):
        pending_ops.extend(_collectives(recorders, ring_summaries, roster))
    pending_ops.extend(_pairs(recorders, ring_summaries))
    place = {rank: pending for pending in pending_ops for rank in pending.waiting}
    return JobState(recorders, ring_summaries, tuple(pending_ops), place, _sinks(pending_ops, place))


def _rosters(recorders: RecorderSet) -> Iterable[_Roster]:
    roles: dict[int, dict[Rank, int]] = {}
    groups: dict[int, Group] = {}
    same: dict[tuple[str, tuple[Rank, ...]], Group] = {}
    canonical: dict[int, int] = {}
    for rank in sorted(recorders.members):
        for role, group in enumerate(recorders.members[rank].groups):
            if id(group) not in canonical:
                canonical[id(group)] = id(same.setdefault((group.name, group.members), group))
            number = canonical[id(group)]
            groups[number] = same[(group.name, group.members)] if number not in groups else groups[number]
            roles.setdefault(number, {})[rank] = role
    for number, group in groups.items():
        unknown = RankSet.of(rank for rank in group.members if rank not in recorders.members)
        yield _Roster(group, roles[number], unknown)


def _collectives(
    recorders: RecorderSet, ring_summaries: Mapping[Ring, RingSummary], roster: _Roster
) -> Iterable[PendingOp]:
    heads: dict[Rank, Step] = {}
    for rank, role in roster.roles.items():
        head = ring_summaries[recorders.members[rank].ring].open
        if head is not None and head.role == role and not head.p2p:
            heads[rank] = head
    for seq in sorted({step.seq for step in heads.values()})[:_MOST_PLACES]:
        steps = {rank: step for rank, step in heads.items() if step.seq == seq}
        absent: list[Rank] = []
        behind: list[Rank] = []
        passed: list[Rank] = []
        for rank in roster.group.members:
            if rank in steps or rank not in recorders.members:
                continue
            ring_summary = ring_summaries[recorders.members[rank].ring]
            front = ring_summary.fronts.get(roster.roles.get(rank, -1))
            if front is None or front.last.seq < seq:
                absent.append(rank)
            elif (
                ring_summary.open is not None
                and heads.get(rank, ring_summary.open).seq != seq
                and _unfinished(recorders.members[rank].ring, roster.roles[rank], seq)
            ):
                behind.append(rank)
            else:
                passed.append(rank)
        yield PendingOp(
            roster.group,
            next(iter(steps.values())),
            RankSet.of(steps),
            RankSet.of(absent),
            RankSet.of(behind),
            roster.unknown,
            steps,
            RankSet.of(passed),
        )


def _unfinished(ring: Ring, role: int, seq: int) -> bool:
    return any(s.role == role and s.seq == seq and not s.p2p and not s.finished for s in reversed(ring.steps))


def _pairs(recorders: RecorderSet, ring_summaries: Mapping[Ring, RingSummary]) -> Iterable[PendingOp]:
    """One pending operation for each rank that is in a send, a receive, or a batch of them."""
    for rank, member in recorders.members.items():
        head = ring_summaries[member.ring].head
        if not head or not head[0].p2p:
            continue
        group = member.groups[head[0].role]
        absent: list[Rank] = []
        behind: list[Rank] = []
        unknown: list[Rank] = []
        for step in head:
            peer = group.members[step.peer] if step.peer is not None and step.peer < len(group.members) else None
            if peer is None or peer == rank:
                continue
            if peer not in recorders.members:
                unknown.append(peer)
                continue
            theirs = ring_summaries[recorders.members[peer].ring]
            if not _answers(recorders.members[peer], theirs.head, group, rank, step):
                (absent if theirs.open is None else behind).append(peer)
        yield PendingOp(
            group,
            head[0],
            RankSet.of([rank]),
            RankSet.of(absent),
            RankSet.of(behind),
            RankSet.of(unknown),
            {rank: head[0]},
            RankSet(),
        )


def _answers(other: Member, head: Sequence[Step], group: Group, rank: Rank, step: Step) -> bool:
    """Whether the other rank, by the head of its ring, is in the counterpart of this send or receive."""
    wanted = "recv" if step.op == "send" else "send"
    for theirs in head:
        if not theirs.p2p or theirs.op != wanted or theirs.peer is None:
            continue
        members = other.groups[theirs.role].members
        if other.groups[theirs.role].name == group.name and theirs.peer < len(members) and members[theirs.peer] == rank:
            return True
    return False


def _sinks(pending_ops: list[PendingOp], place: Mapping[Rank, PendingOp]) -> tuple[tuple[PendingOp, ...], ...]:
    """Sets of pending operations that wait only for themselves: strongly connected components without an
    outgoing edge.
    """
    targets = {
        pending: list(
            dict.fromkeys(place[rank] for rank in pending.needs if rank in place and place[rank] is not pending)
        )
        for pending in pending_ops
    }
    sets = _strongly_connected(targets)
    home = {pending: number for number, found in enumerate(sets) for pending in found}
    return tuple(
        tuple(found)
        for number, found in enumerate(sets)
        if all(home[target] == number for pending in found for target in targets[pending])
    )


def _strongly_connected(targets: Mapping[PendingOp, list[PendingOp]]) -> list[list[PendingOp]]:
    """Tarjan's algorithm, without recursion: a pipeline of a thousand stages is a chain of a thousand nodes."""
    index: dict[PendingOp, int] = {}
    low: dict[PendingOp, int] = {}
    stack: list[PendingOp] = []
    on_stack: set[PendingOp] = set()
    found: list[list[PendingOp]] = []
    for start in targets:
        if start in index:
            continue
        work = [(start, iter(targets[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, remaining = work[-1]
            for target in remaining:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(targets[target])))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    found.append(_popped(stack, on_stack, node))
    return found


def _popped(stack: list[PendingOp], on_stack: set[PendingOp], last: PendingOp) -> list[PendingOp]:
    members: list[PendingOp] = []
    while not members or members[-1] is not last:
        members.append(stack.pop())
        on_stack.discard(members[-1])
    return members
