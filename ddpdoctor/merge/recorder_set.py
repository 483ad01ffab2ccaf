"""Combines the recorders of many ranks: completes the groups' members, and shares equal rings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ddpdoctor.model.collectives import Recorder, RecorderEntry
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.ranks import Group, Rank
from ddpdoctor.model.recorder_set import Member, RecorderSet, Ring, Step


def complete(members: Mapping[Rank, Member], world_size: int = 0, *, size_known: bool = True) -> RecorderSet:
    """A set in which every group has members.

    gloo's dumps list no members: the default group has all ranks, any other the ranks that were seen to use it.
    `size_known`: `world_size` is stated somewhere, and is not just the number of ranks that were seen.
    """
    named = [group.members[-1] + 1 for group in _groups(members) if group.members]
    world = max([world_size, *named, *(rank + 1 for rank in members)], default=0)
    users = _users_of_unlisted(members)
    if not users:
        return RecorderSet(world, members)
    everyone = tuple(Rank(rank) for rank in range(world))
    full = {name: everyone if name == "0" else tuple(sorted(ranks)) for name, ranks in users.items()}
    known = named or (size_known and world_size > 0)
    return RecorderSet(world, _filled(members, full), frozenset(users) - ({"0"} if known else set()))


def _users_of_unlisted(members: Mapping[Rank, Member]) -> Mapping[str, set[Rank]]:
    """Groups whose members no dump lists, by name, and the ranks that used them."""
    users: dict[str, set[Rank]] = {}
    for rank, member in members.items():
        for group in member.groups:
            if not group.members:
                users.setdefault(group.name, set()).add(rank)
    return users


def _filled(members: Mapping[Rank, Member], full: Mapping[str, tuple[Rank, ...]]) -> Mapping[Rank, Member]:
    """With the members of groups that list none; ranks that shared a tuple of groups share the new one."""
    completed: dict[tuple[Group, ...], tuple[Group, ...]] = {}
    for member in members.values():
        if member.groups not in completed:
            completed[member.groups] = tuple(
                group if group.members else replace(group, members=full[group.name]) for group in member.groups
            )
    return {rank: replace(member, groups=completed[member.groups]) for rank, member in members.items()}


def _groups(members: Mapping[Rank, Member]) -> list[Group]:
    found: dict[int, Group] = {}
    for member in members.values():
        for group in member.groups:
            found[id(group)] = group
    return list(found.values())


def from_recorders(recorders: Mapping[Rank, Recorder], world_size: int = 0, *, size_known: bool = True) -> RecorderSet:
    """A set of recorders that were read one by one."""
    rings: dict[tuple[bool, tuple[Step, ...]], Ring] = {}
    members: dict[Rank, Member] = {}
    for rank, recorder in recorders.items():
        groups = _in_order(recorder)
        roles = {group.name: role for role, group in enumerate(groups)}
        steps = tuple(_step(entry, roles, groups) for entry in recorder.entries)
        ring = rings.setdefault((recorder.truncated, steps), Ring(steps, recorder.truncated))
        members[rank] = Member(rank, ring, groups, recorder.newest_ns, recorder.version)
    return complete(members, world_size, size_known=size_known)


def from_evidence(evidence: Evidence) -> RecorderSet | None:
    """The recorders of a job's ranks; None if no rank has one."""
    held = {seen.rank: _with_groups(seen, seen.recorder) for seen in evidence.ranks if seen.recorder}
    return from_recorders(held, evidence.world_size) if held else None


def _with_groups(seen: RankEvidence, recorder: Recorder) -> Recorder:
    """The recorder with the groups from the rank's page, as gloo's dumps list none."""
    return replace(recorder, groups=recorder.groups or (seen.page.groups if seen.page else ()))


def _in_order(recorder: Recorder) -> tuple[Group, ...]:
    """The recorder's groups; those that only its entries name come last, without members."""
    named = {group.name: group for group in recorder.groups}
    for entry in recorder.entries:
        if entry.group not in named:
            named[entry.group] = Group(entry.group, ())
    return tuple(named.values())


def _step(entry: RecorderEntry, roles: Mapping[str, int], groups: tuple[Group, ...]) -> Step:
    role = roles[entry.group]
    members = groups[role].members
    return Step(
        role=role,
        seq=entry.seq,
        op=entry.op,
        backend=entry.backend,
        sizes=entry.input_sizes,
        dtypes=entry.input_dtypes,
        site=entry.site,
        finished=entry.retired or entry.state == "completed",
        timed_out=entry.timed_out,
        p2p=entry.p2p,
        peer=members.index(entry.peer) if entry.peer is not None and entry.peer in members else None,
    )
