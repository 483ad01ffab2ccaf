"""Ranks that wait for one another in a cycle: through several groups, or in sends and receives."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ddpdoctor.diagnose import codes
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.offline.recorder_dumps.pending_operations import DEFAULT, JobState, PendingOp
from ddpdoctor.diagnose.offline.recorder_dumps.shifts import mark
from ddpdoctor.diagnose.offline.recorder_dumps.wording import a_few, issued, label, locations, ranks, verb
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.recorder_set import Ring, Step


def circle(job: JobState, sink: Sequence[PendingOp]) -> Diagnosis:
    """The diagnosis of pending operations that wait for each other and for no others."""
    found = _shortest(job, sink)
    if all(pending.step.p2p for pending in found):
        return _pairs(job, found)
    return _groups(job, found)


def _shortest(job: JobState, sink: Sequence[PendingOp]) -> tuple[PendingOp, ...]:
    """A shortest cycle among the pending operations, by breadth-first search from each of the first ones."""
    inside = set(sink)
    best: tuple[PendingOp, ...] = ()
    for start in sorted(sink, key=lambda m: m.waiting.members)[:32]:
        before: dict[PendingOp, PendingOp] = {}
        queue = [start]
        for pending in queue:
            for target in _targets(job, pending):
                if target is start:
                    path = [pending]
                    while path[-1] is not start:
                        path.append(before[path[-1]])
                    if not best or len(path) < len(best):
                        best = tuple(reversed(path))
                    break
                if target in inside and target not in before:
                    before[target] = pending
                    queue.append(target)
    return best or tuple(sink)


def _targets(job: JobState, pending: PendingOp) -> list[PendingOp]:
    return list(
        dict.fromkeys(job.place[rank] for rank in pending.needs if rank in job.place and job.place[rank] is not pending)
    )


def _links(job: JobState, found: Sequence[PendingOp]) -> list[str]:
    lines = []
    for pending, following in zip(found, (*found[1:], found[0]), strict=True):
        needed = RankSet.of(rank for rank in pending.needs if job.place.get(rank) is following)
        where = _named(job, pending)
        lines.append(
            f"{ranks(pending.waiting)} {verb(pending.waiting, 'is', 'are')} in {where} and "
            f"{verb(pending.waiting, 'needs', 'need')} {ranks(needed)}"
        )
    return lines


def _named(job: JobState, pending: PendingOp) -> str:
    step = pending.step
    if step.p2p:
        members = pending.group.members
        peer = members[step.peer] if step.peer is not None and step.peer < len(members) else "?"
        return f"{step.op} {'to' if step.op == 'send' else 'from'} rank {peer}"
    return f"{issued(step)}, number {step.seq} of {label(job, pending)}"


def _pairs(job: JobState, found: Sequence[PendingOp]) -> Diagnosis:
    rule = codes.P2P_DEADLOCK
    members = RankSet.of(rank for pending in found for rank in pending.waiting)
    kinds = {pending.step.op for pending in found}
    kind = {frozenset({"recv"}): "receive", frozenset({"send"}): "send"}.get(frozenset(kinds), "send and receive")
    links = _links(job, found)
    return diagnosis(
        rule,
        job.waiting,
        confidence=Confidence.LIKELY,
        blame=Confidence.POSSIBLE,
        summary=f"{ranks(members)} {kind} in a cycle: {'; '.join(links[:2])}{' ...' if len(links) > 2 else ''}",
        why="Each waits for the next one's send or recv, which comes only after its own returns.",
        fix="Let one rank of each pair send first and the other receive first, or use isend or batch_isend_irecv.",
        locations=locations(((m.waiting, m.step.site) for m in found), job, RankSet()),
        evidence=tuple(a_few(links)),
    )


def _groups(job: JobState, found: Sequence[PendingOp]) -> Diagnosis:
    rule = codes.GROUP_ORDER_CYCLE
    odd = _odd(job, found)
    links = _links(job, found)
    members = RankSet.of(rank for pending in found for rank in pending.waiting)
    groups = len({id(pending.group) for pending in found})
    summary = (
        f"{ranks(odd)} {verb(odd, 'is', 'are')} in {_named(job, job.place[odd.members[0]])}, out of the order "
        f"that the others follow: {ranks(members - odd)} wait for {verb(odd, 'it', 'them')} elsewhere"
        if odd
        else f"{ranks(members)} wait for each other in a cycle through {groups} process groups"
    )
    return diagnosis(
        rule,
        job.waiting - odd,
        confidence=Confidence.LIKELY,
        blame=Confidence.LIKELY if odd else Confidence.POSSIBLE,
        culprits=odd,
        summary=summary,
        why=f"{'; '.join(a_few(links))}. Each would reach the operation that the others wait in only afterwards.",
        fix=("Use the groups in the same order on every rank, also where communication overlaps with other work."),
        locations=locations(
            ((RankSet.of([r]), m.steps[r].site) for m in found for r in m.waiting.members[:1]), job, odd
        ),
        evidence=tuple(a_few(links)),
    )


def may_lack_others(job: JobState, pending: PendingOp) -> bool:
    """Whether all known members of the group have entered, but others wait elsewhere and may be members too."""
    # all ranks are in the default group: a rank waiting elsewhere has reached fewer of its operations, or more
    named = pending.group.name not in job.recorders.inferred or pending.group.name == DEFAULT
    return not named and pending.met and not pending.step.p2p and len(job.waiting - pending.waiting) > 0


def circle_of_unnamed(job: JobState, found: Sequence[PendingOp]) -> Diagnosis:
    """Operations of groups whose members no dump names, while other ranks wait elsewhere: these may be the members.

    If both are groups of all ranks, that is a cycle through both, and the transport has not failed in either.
    """
    rule = codes.GROUP_ORDER_CYCLE if len(found) > 1 else codes.UNDECIDED
    inside = RankSet.of(rank for pending in found for rank in pending.waiting)
    places = [f"{ranks(m.waiting)} {verb(m.waiting, 'is', 'are')} in {_named(job, m)}" for m in found]
    rest = job.waiting - inside
    if rest:
        places.append(f"{ranks(rest)} {verb(rest, 'waits', 'wait')} elsewhere")
    return diagnosis(
        rule,
        job.waiting,
        confidence=Confidence.POSSIBLE,
        summary="; ".join(a_few(places)),
        why=(
            "The dumps do not name the members of these groups. If ranks that wait elsewhere belong to them, they "
            "wait for each other: each would reach the other operation only afterwards."
        ),
        fix="Use the groups in the same order on every rank; check the members of each group where it is created.",
        locations=locations(((m.waiting, m.step.site) for m in found), job, RankSet()),
        evidence=tuple(a_few(places)),
    )


def _odd(job: JobState, found: Sequence[PendingOp]) -> RankSet:
    """The ranks of a cycle that deviated from the order they had kept until then, if they are few.

    If the order so far does not tell, and the same ranks use two groups: those in the group that fewer of them wait in.
    """
    everyone = [rank for pending in found for rank in pending.waiting]
    odd = _out_of_habit(job, everyone)
    if odd:
        return RankSet.of(odd) if 2 * len(odd) < len(everyone) or len(everyone) == 2 > len(odd) else RankSet()
    if len(found) != 2 or any(pending.step.p2p for pending in found):
        return RankSet()
    return _fewer(*found)


def _out_of_habit(job: JobState, ranks: Sequence[Rank]) -> list[Rank]:
    unusual: dict[Ring, bool] = {}
    for rank in ranks:
        ring = job.recorders.members[rank].ring
        if ring not in unusual:
            unusual[ring] = _leaves_habit(ring, job.ring_summary(rank).open)
    return [rank for rank in ranks if unusual[job.recorders.members[rank].ring]]


def _fewer(one: PendingOp, other: PendingOp) -> RankSet:
    """The smaller side of the ranks that both groups have; nobody where the sides are equal."""
    common = set(one.group.members) & set(other.group.members)
    first, second = ([rank for rank in pending.waiting if rank in common] for pending in (one, other))
    if not first or not second or len(first) == len(second):
        return RankSet()
    return RankSet.of(first if len(first) < len(second) else second)


def _leaves_habit(ring: Ring, head: Step | None) -> bool:
    """Whether the pending operation never followed the previous one before, although that one was issued repeatedly."""
    place = next((n for n, step in enumerate(ring.steps) if step is head), 0)
    if head is None or place == 0:
        return False
    marks = [(step.role, *mark(step)) for step in ring.steps[: place + 1]]
    followed = [after for before, after in itertools.pairwise(marks[:-1]) if before == marks[-2]]
    return len(followed) > 1 and marks[-1] not in followed
