"""# DD202 uneven-microbatches

## What
A batch is split into micro-batches depending on the rank's own data, and one rank has more of them.

## Why it hangs
Each micro-batch runs a forward and a backward, and these communicate. The rank with more micro-batches begins another
one while the others are already in the optimizer step or after it.

## Example
    for tokens in pack(batch, budget=4096):      # 2 packs here, 3 there
        model(tokens).sum().backward()
    optimizer.step()

## Fix
Agree on the number (all_reduce(MAX)), and fill up with micro-batches whose loss is multiplied by zero.

## When it is wrong
The data loaders must have delivered equally many batches on both sides, otherwise it is DD201. A break out of the inner
loop by a condition is DD206. Only the source shows which of the two it was, so this is at most `likely`.

## References
https://github.com/verl-project/verl/issues/6176 https://github.com/modelscope/ms-swift/issues/8102
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import UNEVEN_MICROBATCHES
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence.batch_counts import more_microbatches
from ddpdoctor.diagnose.divergence.branch_points import BranchKind
from ddpdoctor.diagnose.divergence.causes import Cause, divergences_of
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for divergence in divergences_of(facts, Cause.UNEVEN_MICROBATCHES):
        found = more_microbatches(facts, divergence)
        if found:
            yield _diagnosis(facts, divergence, *found)


def _diagnosis(facts: Facts, divergence: Divergence, forward: HistoryStep, more: RankSet, less: RankSet) -> Diagnosis:
    confidence = weaker(Confidence.LIKELY, divergence.cap)
    culprits = RankSet() if divergence.tie else min(more, less, key=len)
    ours, theirs = wording.ranks(more), wording.ranks(less)
    sites = dict.fromkeys(site for site in (_loop(facts, divergence, forward), forward.site) if site is not None)
    return diagnosis(
        UNEVEN_MICROBATCHES,
        facts.waiting,
        confidence=confidence,
        blame=Confidence.POSSIBLE if divergence.tie else confidence,
        culprits=culprits,
        summary=(
            f"{ours} began another micro-batch at {wording.place(forward.site)} where {theirs} "
            f"{wording.verb(less, 'was', 'were')} done with the step"
        ),
        why=(
            f"All ranks fetched equally many batches, but split the last into different numbers of micro-batches. "
            f"{ours.capitalize()} {wording.inside(facts, more)}, {theirs} "
            f"{wording.verb(less, 'is', 'are')} already in {wording.waiting(facts, less)}."
        ),
        fix=(
            "Agree on the number of micro-batches with an all_reduce(MAX), and fill up with micro-batches whose loss "
            "is multiplied by zero."
        ),
        locations=(*(facts.location(culprits or more, site) for site in sites), *facts.locations_of((*more, *less))),
        evidence=(
            wording.parted(divergence.odd_next, divergence.reference_next),
            *(
                f"rank {rank}: {wording.batches(c.delivered)}, {c.forwards + c.forwards_no_sync} forwards"
                for rank in (*more, *less)
                if (c := facts.counters(rank))
            ),
        ),
    )


def _loop(facts: Facts, divergence: Divergence, forward: HistoryStep) -> Site | None:
    """The loop over the parts of a batch, where their number was decided."""
    for point in divergence.branch_points:
        if point.kind in (BranchKind.DATA, BranchKind.COUNT):
            return divergence.place(point)
    around = enclosing.enclosing_loops(facts.program, forward.site) if forward.site else ()
    if not around or forward.site is None:
        return None
    head = replace(forward.site, line=around[0].first)
    return None if any(head in history.loaders() for history in facts.histories.values()) else head
