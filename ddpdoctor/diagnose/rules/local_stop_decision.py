"""# DD206 local-stop-decision

## What
One rank decided on its own to leave a loop, or to do something that all ranks must do together: early stopping, a time
limit, saving the best model, a file that it alone found.

## Why it hangs
The rank continues after the loop while the others start another iteration, whose collectives need it; or it is in a
call that the values of the other ranks did not lead them to.

## Example
    for epoch in range(epochs):
        train_epoch()
        if stopping.finished(validate()):    # each rank's own validation error
            break
    dist.barrier()

## Fix
Decide together: all_reduce the flag or the metric, and let every rank act on the result.

## When it is wrong
A loop over a generator may also simply have ended (DD201); then this is not reported, unless the loop's counter shows
that the rank began the turn in which the others are (`likely`). `certain` requires that a single condition in the
source can have separated the ranks, and that it does not test for the end of the data (`is None`); around a call that
the others never made, also that the source shows what each rank has of its own in it: its clock, its random numbers,
its files, its data. A condition whose value comes from the rank is DD203.

## References
https://github.com/Lightning-AI/pytorch-lightning/issues/379 https://github.com/pytorch/pytorch/issues/22834
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import LOCAL_STOP_DECISION
from ddpdoctor.diagnose.conditions import depends_on
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import (
    barrier_pairing,
    control_flow_diff,
    decisions,
    early_returns,
    relative_position,
)
from ddpdoctor.diagnose.divergence.branch_points import BranchKind, BranchPoint
from ddpdoctor.diagnose.divergence.causes import Cause, divergences_of
from ddpdoctor.diagnose.divergence.cfg_model import EdgeKind
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.empty_checks import asks_none
from ddpdoctor.diagnose.divergence.loop_counters import CounterStart, counter_start
from ddpdoctor.diagnose.divergence.patterns import Pattern
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.dependence import DependsOn
from ddpdoctor.model.diagnosis import Confidence, Diagnosis


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    ended = early_returns.own_stop(facts)
    for divergence in (*divergences_of(facts, Cause.LOCAL_DECISION), *([ended] if ended else [])):
        kinds = (BranchKind.CONDITION, BranchKind.RETURN)
        conditions = [point for point in divergence.branch_points if point.kind in kinds]
        yield _diagnosis(facts, divergence, conditions)


def _diagnosis(facts: Facts, divergence: Divergence, conditions: list[BranchPoint]) -> Diagnosis:
    left = divergence.pattern is Pattern.LEFT_LOOP
    # `while batch is not None` tests for the end of the data: that is DD201
    ended = any(asks_none(facts.program, point.site) for point in conditions)
    # that a part of an expression was not evaluated leaves no trace of its own
    passed = any(point.taken is EdgeKind.ON for point in conditions)
    single = len(divergence.branch_points) == 1 and divergence.unique and not (ended or passed)
    sure = single and (left or _seen_to_enter(facts, divergence))
    confidence = weaker(Confidence.CERTAIN if sure else Confidence.LIKELY, divergence.cap)
    first = divergence.place(conditions[-1])
    start = counter_start(facts, conditions[-1].site)
    following = relative_position.those_that_did(facts, divergence.reference_next, divergence.reference)
    odd, reference = wording.ranks(divergence.odd), wording.ranks(divergence.reference)
    step = divergence.odd_next
    call = (step.op or wording.step(step)) if step else "a call"
    where = wording.place(first)
    inside = relative_position.calls_in_loop(facts, divergence.compared)
    what = f"left the loop at {where}" if left and not inside else f"went to {call} alone (decided at {where})"
    return diagnosis(
        LOCAL_STOP_DECISION,
        facts.waiting,
        confidence=confidence,
        blame=divergence.blame(confidence),
        culprits=divergence.culprits,
        summary=f"{odd} {what} while {wording.ranks(following)} went on to {wording.step(divergence.reference_next)}",
        why=(
            f"{odd.capitalize()} {wording.now(facts, divergence.odd)}; {reference}, not on a path to it, "
            f"{wording.now(facts, divergence.reference)}. {_reason(start)}"
        ),
        fix=wording.DECIDE_TOGETHER,
        locations=(
            *((facts.location(divergence.culprits, start.site),) if start else ()),
            facts.location(divergence.culprits, first),
            *facts.locations_of((*divergence.reference, *divergence.odd)),
        ),
        evidence=(
            wording.parted(divergence.odd_next, divergence.reference_next),
            *decisions.parted_by(facts, divergence),
        ),
    )


def _seen_to_enter(facts: Facts, divergence: Divergence) -> bool:
    """Whether the ways through the source lead a minority by its only condition, on what each rank has of its own, into
    a call that the others never made, and that no barrier from another place can have met."""
    points, call = divergence.branch_points, divergence.odd_next
    if not divergence.minority or call is None or relative_position.made_by(facts, call, divergence.reference):
        return False
    if points != control_flow_diff.branch_points(facts, divergence.compared) or points[0].kind is BranchKind.RETURN:
        return False
    value = depends_on(facts, points[0].site)
    own = value is not None and value.on in (DependsOn.CLOCK, DependsOn.RANDOM, DependsOn.FILES, DependsOn.RANK_DATA)
    return own and not barrier_pairing.may_have_met_another(facts, divergence)


def _reason(start: CounterStart | None) -> str:
    if start is None:
        return "They diverged at a condition that each rank evaluates on its own values."
    return (
        f"They diverged at a condition on `{start.counter}`, although they have gone round together: they began to "
        f"count at different values, which come from {wording.place(start.site)}."
    )
