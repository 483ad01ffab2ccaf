"""# DD211 metric-keys-differ

## What
Metrics are reduced one by one in a loop over their names, and one rank has fewer names than the others; or a rank that
has collected nothing returns before the results are gathered; or a rank does not log a value for which a library
reduces it under its name (`self.log(..., sync_dist=True)`).

## Why it hangs
Each name takes one collective. The rank with fewer names leaves the loop earlier and enters the program's next
operation, while the others wait for it in the reduction of the name that it does not have.

## Example
    for name in sorted(logs):                # logs["topic_loss"] only where the batch had labels
        dist.all_reduce(logs[name])

## Fix
Provide a value for every name on every rank (zero, and count it separately), or reduce one tensor over an agreed list
of names.

## When it is wrong
The same names in another order are DD213. A loop over data that ends earlier is DD201. This is reported only for loops
over a mapping or its keys and for calls that reduce by name, and is at most `likely`.

## References
https://github.com/open-mmlab/mmsegmentation/issues/1034 https://github.com/Lightning-AI/pytorch-lightning/issues/19106
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import METRIC_KEYS_DIFFER
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence.branch_points import BranchPoint
from ddpdoctor.diagnose.divergence.causes import Cause, divergences_of
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.reduced_names import (
    given_on_condition,
    key_loop,
    not_logged,
    nothing_to_give,
    unusual_side,
)
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import RankSet


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for divergence in divergences_of(facts, Cause.FEWER_NAMES):
        found = key_loop(facts, divergence)
        if found:
            yield _diagnosis(facts, divergence, *found)
        elif (call := divergence.odd_next) is None:
            continue
        elif (empty := nothing_to_give(facts, divergence)) is not None:
            summary = f"had nothing for {call.op} at {wording.place(call.site)} and did not reach it"
            fix = "Never return before a collective: let a rank without data pass an empty list or tensor."
            yield _passed_over(facts, divergence, empty, summary, fix)
        elif (condition := not_logged(facts, divergence)) is not None:
            summary = f"did not log the value that is reduced by its name at {wording.place(call.site)}"
            fix = "Log the same names on every rank; a rank without a value logs a zero and counts it separately."
            yield _passed_over(facts, divergence, condition, summary, fix)


def _passed_over(facts: Facts, divergence: Divergence, condition: BranchPoint, summary: str, fix: str) -> Diagnosis:
    """Only a rank that has something reaches the call that gathers or reduces it."""
    confidence = weaker(Confidence.LIKELY, divergence.cap)
    ours, theirs = wording.ranks(divergence.reference), wording.ranks(divergence.odd)
    culprits = RankSet() if divergence.tie else divergence.culprits
    return diagnosis(
        METRIC_KEYS_DIFFER,
        facts.waiting,
        confidence=confidence,
        blame=Confidence.POSSIBLE if divergence.tie else confidence,
        culprits=culprits,
        summary=f"{ours} {summary}, {theirs} did",
        why=(
            f"They diverged at `{condition.text}` at {wording.place(condition.site)}: {theirs} "
            f"{wording.now(facts, divergence.odd)}, {ours} {wording.now(facts, divergence.reference)}."
        ),
        fix=fix,
        locations=(
            facts.location(culprits or divergence.reference, condition.site),
            *facts.locations_of((*divergence.odd, *divergence.reference)),
        ),
        evidence=(wording.parted(divergence.odd_next, divergence.reference_next),),
    )


def _diagnosis(facts: Facts, divergence: Divergence, loop: BranchPoint, call: HistoryStep, more: RankSet) -> Diagnosis:
    fewer = divergence.reference if more == divergence.odd else divergence.odd
    culprits = unusual_side(facts, call, fewer, more)
    confidence = weaker(Confidence.LIKELY, divergence.cap)
    ours, theirs = wording.ranks(fewer), wording.ranks(more)
    # the names that a library goes over were given to it before, most often in another function
    given = given_on_condition(facts) if loop.shown is not None else None
    return diagnosis(
        METRIC_KEYS_DIFFER,
        facts.waiting,
        confidence=confidence,
        blame=confidence if culprits else Confidence.POSSIBLE,
        culprits=culprits,
        summary=f"{ours} ran fewer iterations of `{loop.text}` at {wording.place(loop.site)} than {theirs}",
        why=(
            f"Every iteration issues {call.op} at {wording.place(call.site)}. {theirs.capitalize()} had one more name "
            f"to reduce and {wording.inside(facts, more)}; {ours} {wording.verb(fewer, 'is', 'are')} already in "
            f"{wording.waiting(facts, fewer)}."
        ),
        fix="Provide a value for every name on every rank, or reduce one tensor over an agreed list of names.",
        locations=(
            *((facts.location(culprits or fewer, given),) if given is not None else ()),
            facts.location(culprits or fewer, loop.shown or loop.site),
            *facts.locations_of((*more, *fewer)),
        ),
        evidence=(wording.parted(divergence.odd_next, divergence.reference_next),),
    )
