"""# DD220 group-order-cycle

## What
Ranks use two process groups in a different order (or two threads share one): one rank is in group A and will reach B
next, the other is in B and will reach A next.

## Why it hangs
Each rank waits for the other in a group that the other will enter only afterwards: a cycle, as with two locks.

## Example
    first, second = (dp, tp) if busy else (tp, dp)       # data decide the order
    dist.all_reduce(a, group=first)
    dist.all_reduce(b, group=second)

## Fix
Use the groups in the same order on every rank. Give a background thread a group of its own that no other thread uses.

## When it is wrong
If one rank leaves out a collective of the first group (a `return` before a backward) or calls one of the second group
that the others never call, the waits look the same. If the source shows the way past the call, that is the diagnosis
(DD207, DD203). This one is `certain` only if the source shows that no rank can leave a call out: the ranks are in one
loop over groups that are written out, and nothing in it leads past the call.

## References
https://github.com/NVIDIA/nccl/issues/522 https://github.com/pytorch/pytorch/issues/147039
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import GROUP_ORDER_CYCLE
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.doubts import Doubt
from ddpdoctor.diagnose.digest.histories import History, HistoryStep
from ddpdoctor.diagnose.digest.rank_state import wait_label
from ddpdoctor.diagnose.digest.waits import Wait
from ddpdoctor.diagnose.divergence import control_flow_diff
from ddpdoctor.diagnose.divergence.causes import more_than_an_order
from ddpdoctor.diagnose.divergence.divergences import divergences
from ddpdoctor.diagnose.divergence.habits import ENOUGH_ROUNDS
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Group, Rank, RankSet
from ddpdoctor.model.stacks import Site

#: Ranks in a cycle and paths followed at once; a cycle of more ranks stays without a name.
LONGEST_CYCLE = 8
MOST_PATHS = 4096


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    cycle = _cycle(facts)
    if more_than_an_order(facts) and not _in_queues(cycle):
        return
    if len(cycle) > 2:
        yield _long_cycle(facts, cycle)
    elif cycle:
        yield _diagnosis(facts, *cycle)
    elif order := _threads_in_disorder(facts):
        yield _threads(facts, order)


def _in_queues(cycle: tuple[Wait, ...]) -> bool:
    """The processes have launched the operations of both groups, and only the queues of their GPUs are blocked.

    Then the histories hold both, in either order, as if one side had made a call more.
    """
    return bool(cycle) and all(wait.doubt is Doubt.DEVICE_QUEUE for wait in cycle)


def _cycle(facts: Facts) -> tuple[Wait, ...]:
    """The shortest cycle of waits, each for the next one's rank, that passes through more than one group."""
    waits = [wait for wait in facts.graph.all_waits() if wait.group and wait.needs]
    paths: list[tuple[Wait, ...]] = [(wait,) for wait in waits]
    for _ in range(min(len(waits), LONGEST_CYCLE)):
        steps = [(path, wait) for path in paths for wait in waits if wait.rank in path[-1].needs]
        closed = next((path for path, wait in steps if wait is path[0] and _groups_of(path) > 1), None)
        if closed:
            return closed
        paths = [(*path, wait) for path, wait in steps if wait.rank > path[0].rank and _is_new(wait, path)][:MOST_PATHS]
    return ()


def _groups_of(path: tuple[Wait, ...]) -> int:
    return len({_key(wait.group) for wait in path if wait.group})


def _is_new(wait: Wait, path: tuple[Wait, ...]) -> bool:
    return all(wait.rank != step.rank for step in path)


def _long_cycle(facts: Facts, cycle: tuple[Wait, ...]) -> Diagnosis:
    """Each rank waits in another group; the cycle does not show which rank left the common order, but what the ranks
    did in the rounds before may."""
    world = facts.evidence.world_size
    members = RankSet.of(wait.rank for wait in cycle)
    usual = {wait.rank: before for wait in cycle if (before := _usual_group(facts, wait)) is not None}
    changed = RankSet.of(rank for rank, before in usual.items() if before != _key_of(cycle, rank))
    culprits = changed if len(changed) == 1 and len(usual) == len(cycle) else RankSet()
    links = [
        f"rank {wait.rank} waits in {wait_label(wait)} of {wait.group.label(world) if wait.group else 'a group'} for "
        f"rank {following.rank}"
        for wait, following in zip(cycle, (*cycle[1:], cycle[0]), strict=True)
    ]
    habits = [
        f"rank {rank} used {Group(*usual[rank]).label(world)} at this point in every round before" for rank in culprits
    ]
    return diagnosis(
        GROUP_ORDER_CYCLE,
        facts.waiting - culprits,
        confidence=Confidence.LIKELY,
        blame=Confidence.LIKELY if culprits else Confidence.POSSIBLE,
        culprits=culprits,
        summary=(f"{wording.ranks(members)} wait for each other in a cycle through {_groups_of(cycle)} process groups"),
        why=f"{'; '.join(links)}. Each rank would enter the group in which the previous rank waits only afterwards.",
        fix="Use the groups in the same order on every rank, also where communication overlaps with other work.",
        locations=facts.locations_of(culprits) + facts.locations_of(members - culprits),
        evidence=(*habits, *links),
    )


def _usual_group(facts: Facts, wait: Wait) -> tuple[str, tuple[Rank, ...]] | None:
    """The group that the rank used in every round before at the point where it waits now: after the group before. None
    if there were too few rounds, it was not always the same, or the group in which it waits was none of theirs: then
    all ranks may do something new."""
    history = facts.histories.get(wait.rank)
    used = [step.group for step in history.steps if step.collective and step.group] if history else []
    if len(used) < 2 or wait.group is None or used[-1] != _key(wait.group):
        return None
    followed = {after for before, after in itertools.pairwise(used[:-1]) if before == used[-2]}
    often = min(used[:-1].count(used[-2]) - 1, used[:-1].count(used[-1])) >= ENOUGH_ROUNDS - 1
    return followed.pop() if often and len(followed) == 1 else None


def _key_of(cycle: tuple[Wait, ...], rank: Rank) -> tuple[str, tuple[Rank, ...]] | None:
    return next((_key(wait.group) for wait in cycle if wait.rank == rank and wait.group), None)


def _threads_in_disorder(facts: Facts) -> Mapping[Rank, tuple[Wait, ...]]:
    """Ranks' waits in one group, in the order in which they were issued, if threads of a rank share that group."""
    shared = [w for waits in facts.graph.waits.values() if len(waits) > 1 for w in waits if w.mismatched]
    if not shared or shared[0].group is None:
        return {}
    key = _key(shared[0].group)
    found = {
        rank: tuple(
            sorted(
                (w for w in waits if w.group and _key(w.group) == key and w.seq is not None), key=lambda w: w.seq or 0
            )
        )
        for rank, waits in facts.graph.waits.items()
    }
    return {rank: waits for rank, waits in found.items() if waits}


def _threads(facts: Facts, order: Mapping[Rank, tuple[Wait, ...]]) -> Diagnosis:
    """Threads of a rank share a group: their order is not determined, and differs between ranks."""
    sides: dict[str, list[Rank]] = {}
    for rank, waits in order.items():
        sides.setdefault(waits[0].op, []).append(rank)
    ranked = sorted((RankSet.of(members) for members in sides.values()), key=lambda side: (len(side), side.members))
    odd, rest = ranked[0], ranked[-1]
    issued = [" before ".join(wait.op for wait in order[side.members[0]]) for side in (odd, rest)]
    shared = order[odd.members[0]][0].group
    label = shared.label(facts.evidence.world_size) if shared else "one group"
    sites = dict.fromkeys(wait.site for side in (odd, rest) for wait in order[side.members[0]] if wait.site)
    return diagnosis(
        GROUP_ORDER_CYCLE,
        facts.waiting - (odd if len(odd) < len(rest) else RankSet()),
        confidence=Confidence.LIKELY,
        blame=Confidence.POSSIBLE,
        culprits=odd if len(odd) < len(rest) else RankSet(),
        summary=f"threads share {label}: {wording.ranks(odd)} issued {issued[0]}, {wording.ranks(rest)} {issued[1]}",
        why=(
            "Collectives of a group are paired by their order, and the order of the two threads is not determined. "
            "Each thread waits for a partner that waits in the other thread's operation."
        ),
        fix="Give the background thread a process group of its own (dist.new_group) and do not use it elsewhere.",
        locations=tuple(facts.location(_standing_at(order, site), site) for site in sites),
        evidence=tuple(f"rank {w.rank}, thread {w.thread}: {wait_label(w)}" for waits in order.values() for w in waits),
    )


def _standing_at(order: Mapping[Rank, tuple[Wait, ...]], site: Site) -> list[Rank]:
    return [rank for rank, waits in order.items() if any(wait.site == site for wait in waits)]


def _key(group: Group) -> tuple[str, tuple[Rank, ...]]:
    return (group.name, group.members)


def _diagnosis(facts: Facts, mine: Wait, theirs: Wait) -> Diagnosis:
    odd, rest = sorted(_sides(facts, mine, theirs), key=len)
    culprits, confidence = _culprits(facts, mine, theirs, odd, rest)
    first = mine if mine.rank in odd else theirs
    second = theirs if first is mine else mine
    world = facts.evidence.world_size
    names = [wait.group.label(world) if wait.group else "a group" for wait in (first, second)]
    sure = first.rank in facts.graph.stuck and _used_before(facts, mine, theirs) and _in_any_order(facts, mine, theirs)
    return diagnosis(
        GROUP_ORDER_CYCLE,
        facts.waiting,
        confidence=Confidence.CERTAIN if sure else Confidence.LIKELY,
        blame=confidence,
        culprits=culprits,
        summary=(
            f"{wording.ranks(odd)} {wording.verb(odd, 'is', 'are')} in {wait_label(first)} of {names[0]} where "
            f"{wording.ranks(rest)} {wording.verb(rest, 'is', 'are')} in {wait_label(second)} of {names[1]}"
        ),
        why=(
            f"{wording.ranks(odd).capitalize()} waits in {names[0]} for {wording.ranks(first.needs)}, and "
            f"{wording.ranks(rest)} in {names[1]} for {wording.ranks(second.needs)}: each would enter the other group "
            "only afterwards."
        ),
        fix="Use the groups in the same order on every rank; a background thread needs a group of its own.",
        locations=facts.locations_of(odd) + facts.locations_of(rest),
        evidence=tuple(
            f"rank {w.rank} needs {wording.ranks(w.needs)} in {wait_label(w)} of "
            f"{w.group.label(world) if w.group else 'a group'}"
            for w in facts.graph.all_waits()
            if w.needs
        ),
    )


def _sides(facts: Facts, mine: Wait, theirs: Wait) -> tuple[RankSet, RankSet]:
    """Ranks that wait as the one does and ranks that wait as the other does."""
    return _in_group(facts, mine), _in_group(facts, theirs)


def _in_group(facts: Facts, wait: Wait) -> RankSet:
    return RankSet.of(
        other.rank
        for other in facts.graph.all_waits()
        if other.group and wait.group and _key(other.group) == _key(wait.group) and other.seq == wait.seq
    )


def _culprits(facts: Facts, mine: Wait, theirs: Wait, odd: RankSet, rest: RankSet) -> tuple[RankSet, Confidence]:
    """The minority; with sides of equal size the one that left the order that it kept until then. Ranks that are in one
    of the groups only have no order."""
    odd, rest = _with_a_choice(odd, mine, theirs), _with_a_choice(rest, mine, theirs)
    if len(odd) < len(rest):
        return odd, Confidence.LIKELY
    for wait, other in ((mine, theirs), (theirs, mine)):
        history = facts.histories.get(wait.rank)
        if history and _habit(history, wait) < _habit(history, other):
            return _with_a_choice(_in_group(facts, wait), mine, theirs), Confidence.LIKELY
    return RankSet(), Confidence.POSSIBLE


def _with_a_choice(ranks: RankSet, mine: Wait, theirs: Wait) -> RankSet:
    """Those that are in the groups of both waits."""
    groups = [set(wait.group.members) for wait in (mine, theirs) if wait.group]
    return RankSet.of(rank for rank in ranks if all(rank in members for members in groups))


def _habit(history: History, wait: Wait) -> int:
    """How often the group of this wait was first of the two, right after the event that also precedes it now."""
    steps = history.steps
    last = next((n for n in range(len(steps) - 1, 0, -1) if _is_call(steps[n])), 0)
    if last == 0 or wait.group is None:
        return 0
    before = steps[last - 1]
    return sum(
        1
        for n in range(1, last)
        if steps[n - 1] == before and _is_call(steps[n]) and steps[n].group == _key(wait.group)
    )


def _is_call(step: HistoryStep) -> bool:
    return step.kind is EventKind.CALL


def _in_any_order(facts: Facts, mine: Wait, theirs: Wait) -> bool:
    """Whether the source shows that neither rank left a call out: the histories of a rank that did would look alike."""
    return any(
        control_flow_diff.goes_through_all(facts, one.compared)
        for one in divergences(facts)
        if {mine.rank in one.odd, theirs.rank in one.odd} == {True, False}
    )


def _used_before(facts: Facts, mine: Wait, theirs: Wait) -> bool:
    """Both ranks had used both groups before this: neither call is new to either."""
    for rank in (mine.rank, theirs.rank):
        history = facts.histories.get(rank)
        groups = [step.group for step in history.steps if _is_call(step)] if history else []
        wanted = [_key(wait.group) for wait in (mine, theirs) if wait.group]
        current = _key(mine.group) if rank == mine.rank and mine.group else _key(theirs.group) if theirs.group else None
        counts = {key: groups.count(key) - (key == current) for key in wanted}
        if len(wanted) != 2 or min(counts.values()) < 1:
            return False
    return True
