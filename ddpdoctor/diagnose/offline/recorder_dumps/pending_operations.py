"""Operations that ranks stand in, who is missing there, and which of these operations wait for one another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ddpdoctor.diagnose.offline.recorder_dumps.ring_summary import Outlook, look
from ddpdoctor.model.crowd import Crowd, Ring, Step
from ddpdoctor.model.ranks import Group, Rank, RankSet

#: Different operations of one group that ranks stand in at once; the oldest ones are looked at.
_MOST_PLACES = 64
#: the name of the group of all ranks
DEFAULT = "0"


@dataclass(frozen=True, slots=True, eq=False)
class Meeting:
    """One operation that ranks stand in: it is complete when all whom it needs have come."""

    group: Group
    #: as the first of the waiting ranks sees it
    step: Step
    waiting: RankSet
    #: have not issued it
    absent: RankSet
    #: have issued it and stand in an older operation
    behind: RankSet
    #: left no dump
    unknown: RankSet
    #: each waiting rank's own operation here
    steps: Mapping[Rank, Step]
    #: are done with it, or so far on that they must be
    passed: RankSet

    @property
    def needs(self) -> Iterable[Rank]:
        return (*self.absent, *self.behind)

    @property
    def met(self) -> bool:
        """All have come, and stand in it."""
        return not self.absent and not self.behind and not self.unknown


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """All meetings of a job."""

    crowd: Crowd
    outlooks: Mapping[Ring, Outlook]
    meetings: tuple[Meeting, ...]
    #: where each rank stands
    place: Mapping[Rank, Meeting]
    #: meetings that wait for no other than those of their own set: one, or a circle
    sinks: tuple[tuple[Meeting, ...], ...]

    def outlook(self, rank: Rank) -> Outlook:
        return self.outlooks[self.crowd.members[rank].ring]

    def standing(self, rank: Rank) -> bool:
        """The rank left a dump and stands in an operation."""
        return rank in self.place

    @property
    def waiting(self) -> RankSet:
        return RankSet.of(self.place)


@dataclass(frozen=True, slots=True, eq=False)
class _Roster:
    """A group's members, as far as they left dumps, with the role that the group has on each."""

    group: Group
    roles: Mapping[Rank, int]
    unknown: RankSet


def survey(crowd: Crowd) -> Field:
    """Find all meetings and what they wait for."""
    outlooks: dict[Ring, Outlook] = {}
    for member in crowd.members.values():
        if member.ring not in outlooks:
            outlooks[member.ring] = look(member.ring)
    meetings: list[Meeting] = []
    for roster in _rosters(crowd):
        meetings.extend(_collectives(crowd, outlooks, roster))
    meetings.extend(_pairs(crowd, outlooks))
    place = {rank: meeting for meeting in meetings for rank in meeting.waiting}
    return Field(crowd, outlooks, tuple(meetings), place, _sinks(meetings, place))


def _rosters(crowd: Crowd) -> Iterable[_Roster]:
    roles: dict[int, dict[Rank, int]] = {}
    groups: dict[int, Group] = {}
    same: dict[tuple[str, tuple[Rank, ...]], Group] = {}
    canonical: dict[int, int] = {}
    for rank in sorted(crowd.members):
        for role, group in enumerate(crowd.members[rank].groups):
            if id(group) not in canonical:
                canonical[id(group)] = id(same.setdefault((group.name, group.members), group))
            number = canonical[id(group)]
            groups[number] = same[(group.name, group.members)] if number not in groups else groups[number]
            roles.setdefault(number, {})[rank] = role
    for number, group in groups.items():
        unknown = RankSet.of(rank for rank in group.members if rank not in crowd.members)
        yield _Roster(group, roles[number], unknown)


def _collectives(crowd: Crowd, outlooks: Mapping[Ring, Outlook], roster: _Roster) -> Iterable[Meeting]:
    heads: dict[Rank, Step] = {}
    for rank, role in roster.roles.items():
        head = outlooks[crowd.members[rank].ring].open
        if head is not None and head.role == role and not head.p2p:
            heads[rank] = head
    for seq in sorted({step.seq for step in heads.values()})[:_MOST_PLACES]:
        steps = {rank: step for rank, step in heads.items() if step.seq == seq}
        absent: list[Rank] = []
        behind: list[Rank] = []
        passed: list[Rank] = []
        for rank in roster.group.members:
            if rank in steps or rank not in crowd.members:
                continue
            outlook = outlooks[crowd.members[rank].ring]
            front = outlook.fronts.get(roster.roles.get(rank, -1))
            if front is None or front.last.seq < seq:
                absent.append(rank)
            elif (
                outlook.open is not None
                and heads.get(rank, outlook.open).seq != seq
                and _unfinished(crowd.members[rank].ring, roster.roles[rank], seq)
            ):
                behind.append(rank)
            else:
                passed.append(rank)
        yield Meeting(
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


def _pairs(crowd: Crowd, outlooks: Mapping[Ring, Outlook]) -> Iterable[Meeting]:
    """One meeting for each rank that stands in a send, a receive, or a batch of them."""
    for rank, member in crowd.members.items():
        head = outlooks[member.ring].head
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
            if peer not in crowd.members:
                unknown.append(peer)
            elif not _answers(crowd, outlooks, peer, group, rank, step):
                standing = outlooks[crowd.members[peer].ring].open is not None
                (behind if standing else absent).append(peer)
        yield Meeting(
            group,
            head[0],
            RankSet.of([rank]),
            RankSet.of(absent),
            RankSet.of(behind),
            RankSet.of(unknown),
            {rank: head[0]},
            RankSet(),
        )


def _answers(crowd: Crowd, outlooks: Mapping[Ring, Outlook], peer: Rank, group: Group, rank: Rank, step: Step) -> bool:
    """The peer stands in the counterpart of this send or receive."""
    other = crowd.members[peer]
    wanted = "recv" if step.op == "send" else "send"
    for theirs in outlooks[other.ring].head:
        if not theirs.p2p or theirs.op != wanted or theirs.peer is None:
            continue
        members = other.groups[theirs.role].members
        if other.groups[theirs.role].name == group.name and theirs.peer < len(members) and members[theirs.peer] == rank:
            return True
    return False


def _sinks(meetings: list[Meeting], place: Mapping[Rank, Meeting]) -> tuple[tuple[Meeting, ...], ...]:
    """Sets of meetings that only wait for themselves: strongly connected, and nothing leads out of them."""
    targets = {
        meeting: list(
            dict.fromkeys(place[rank] for rank in meeting.needs if rank in place and place[rank] is not meeting)
        )
        for meeting in meetings
    }
    sets = _strongly_connected(targets)
    home = {meeting: number for number, found in enumerate(sets) for meeting in found}
    return tuple(
        tuple(found)
        for number, found in enumerate(sets)
        if all(home[target] == number for meeting in found for target in targets[meeting])
    )


def _strongly_connected(targets: Mapping[Meeting, list[Meeting]]) -> list[list[Meeting]]:
    """Tarjan's algorithm, without recursion: a pipeline of a thousand stages is a chain of a thousand nodes."""
    index: dict[Meeting, int] = {}
    low: dict[Meeting, int] = {}
    stack: list[Meeting] = []
    on_stack: set[Meeting] = set()
    found: list[list[Meeting]] = []
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


def _popped(stack: list[Meeting], on_stack: set[Meeting], last: Meeting) -> list[Meeting]:
    members: list[Meeting] = []
    while not members or members[-1] is not last:
        members.append(stack.pop())
        on_stack.discard(members[-1])
    return members
