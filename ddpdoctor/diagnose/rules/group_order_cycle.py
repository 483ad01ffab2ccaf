"""# DD220 group-order-cycle

## What
Ranks use two process groups (or two threads share one) in a different order: one is in group A and will come to B, the
other is in B and will come to A.

## Why it hangs
Each waits for the other inside a group that the other will only enter afterwards: a cycle, as with two locks.

## Example
    first, second = (dp, tp) if busy else (tp, dp)       # data decide the order
    dist.all_reduce(a, group=first)
    dist.all_reduce(b, group=second)

## Fix
Use the groups in one order on every rank. Give a background thread a group of its own and let nothing else use it.

## When it is wrong
If one rank calls a collective of a second group that the others never call, the waits look alike at first; the
histories of both groups decide, and without them this is `likely`.

## References
https://github.com/NVIDIA/nccl/issues/522 https://github.com/pytorch/pytorch/issues/147039
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import shapes, wording
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.histories import History, Step
from ddpdoctor.diagnose.rule import Rule
from ddpdoctor.diagnose.shapes import Shape
from ddpdoctor.diagnose.standing import wait_label
from ddpdoctor.diagnose.waits import Wait
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.evidence import Source
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Group, Rank, RankSet

RULE = Rule(
    code="DD220",
    name="group-order-cycle",
    requires=frozenset({Source.PAGES}),
    excludes=("DD203", "DD213"),
    lint=(),
    fixture="group-order-cycle",
    specificity=55,
)


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    pair = _crossed(facts) or _crossed_threads(facts)
    if pair and not any(s.shape not in (Shape.ORDER, Shape.UNCLEAR) for s in shapes.stories(facts)):
        yield _diagnosis(facts, *pair)


def _crossed(facts: Facts) -> tuple[Wait, Wait] | None:
    """Two ranks, each waiting for the other in another group that has both."""
    waits = [wait for wait in facts.graph.all_waits() if wait.group]
    for mine in waits:
        for theirs in waits:
            mutual = theirs.rank in mine.needs and mine.rank in theirs.needs
            if mutual and mine.group and theirs.group and _key(mine.group) != _key(theirs.group):
                return mine, theirs
    return None


def _crossed_threads(facts: Facts) -> tuple[Wait, Wait] | None:
    """Two threads of one rank in collectives, one of which meets another operation of another rank."""
    for waits in facts.graph.waits.values():
        if len(waits) > 1 and any(wait.mismatched for wait in waits):
            mine = next(wait for wait in waits if wait.mismatched)
            theirs = facts.wait(mine.mismatched.members[0])
            if theirs:
                return mine, theirs
    return None


def _key(group: Group) -> tuple[str, tuple[Rank, ...]]:
    return (group.name, group.members)


def _diagnosis(facts: Facts, mine: Wait, theirs: Wait) -> Diagnosis:
    odd, rest = sorted(_sides(facts, mine, theirs), key=len)
    culprits, confidence = _culprits(facts, mine, theirs, odd, rest)
    first = mine if mine.rank in odd else theirs
    second = theirs if first is mine else mine
    world = facts.evidence.world_size
    names = [wait.group.label(world) if wait.group else "a group" for wait in (first, second)]
    both = _used_before(facts, mine, theirs) and mine.seq is not None and not mine.mismatched
    return Diagnosis(
        RULE.code,
        RULE.name,
        Confidence.CERTAIN if both and first.rank in facts.graph.stuck else Confidence.LIKELY,
        confidence,
        culprits,
        facts.waiting - culprits,
        f"{wording.ranks(odd)} {wording.verb(odd, 'is', 'are')} in {wait_label(first)} of {names[0]} where "
        f"{wording.ranks(rest)} {wording.verb(rest, 'is', 'are')} in {wait_label(second)} of {names[1]}",
        f"{wording.ranks(odd).capitalize()} waits in {names[0]} for {wording.ranks(first.needs)}, and "
        f"{wording.ranks(rest)} in {names[1]} for {wording.ranks(second.needs)}: each would enter the other group only "
        "afterwards.",
        "Use the groups in the same order on every rank; a background thread needs a group of its own.",
        facts.standing_locations(odd) + facts.standing_locations(rest),
        tuple(
            f"rank {w.rank} needs {wording.ranks(w.needs)} in {wait_label(w)} of "
            f"{w.group.label(world) if w.group else 'a group'}"
            for w in facts.graph.all_waits()
            if w.needs
        ),
    )


def _sides(facts: Facts, mine: Wait, theirs: Wait) -> tuple[RankSet, RankSet]:
    """Ranks that wait as the one does and ranks that wait as the other does; two threads of a rank make it a side."""
    double = RankSet.of(rank for rank, waits in facts.graph.waits.items() if len(waits) > 1)
    if mine.group and theirs.group and _key(mine.group) == _key(theirs.group):
        return double, facts.waiting - double
    return _in_group(facts, mine), _in_group(facts, theirs)


def _in_group(facts: Facts, wait: Wait) -> RankSet:
    return RankSet.of(
        other.rank
        for other in facts.graph.all_waits()
        if other.group and wait.group and _key(other.group) == _key(wait.group) and other.seq == wait.seq
    )


def _culprits(facts: Facts, mine: Wait, theirs: Wait, odd: RankSet, rest: RankSet) -> tuple[RankSet, Confidence]:
    """The minority; with sides of equal size the one that left the order that it kept until then."""
    if len(odd) < len(rest):
        return odd, Confidence.LIKELY
    for wait, other in ((mine, theirs), (theirs, mine)):
        history = facts.histories.get(wait.rank)
        if history and _habit(history, wait) < _habit(history, other):
            return _in_group(facts, wait), Confidence.LIKELY
    return RankSet(), Confidence.POSSIBLE


def _habit(history: History, wait: Wait) -> int:
    """How often the group of this wait came first of the two, right after the event that also precedes it now."""
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


def _is_call(step: Step) -> bool:
    return step.kind is EventKind.CALL


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
