"""# DD217 no-sync-mismatch

## What
One rank ran a step under `no_sync()` that the others ran without it: the boundary of gradient accumulation differs.

## Why it hangs
That rank reduced no gradients in a backward in which the others did. The following reductions are paired with the wrong
step, and the weights of the ranks drift apart; the hang occurs when the last reduction finds no partner.

## Example
    complete = tokens_so_far >= budget           # each rank's own count
    with nullcontext() if complete else model.no_sync():
        model(batch).backward()

## Fix
Derive the boundary from the step number, which is the same on all ranks, or agree on it with an all_reduce.

## When it is wrong
It requires that the forward's own flag (`require_backward_grad_sync`) differs at the same place in the ranks'
histories.

## References
https://github.com/modelscope/FunASR/issues/3472 https://github.com/mosaicml/composer/pull/1690
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import NO_SYNC_MISMATCH
from ddpdoctor.diagnose.conditions import unshared
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import patterns, relative_position
from ddpdoctor.diagnose.divergence.causes import Cause, divergences_of
from ddpdoctor.diagnose.divergence.patterns import Divergence
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for divergence in divergences_of(facts, Cause.NO_SYNC):
        if divergence.odd_site:
            yield _diagnosis(facts, divergence, divergence.odd_site)


def _diagnosis(facts: Facts, divergence: Divergence, forward: Site) -> Diagnosis:
    # The others' marks may differ in both directions: an accumulation out of step diverges more than once.
    counts = [facts.counters(rank) for rank in (*divergence.odd, *divergence.reference)]
    differ = len({c.forwards_no_sync for c in counts if c}) > 1
    confidence = weaker(Confidence.CERTAIN if differ and divergence.unique else Confidence.LIKELY, divergence.cap)
    site = _block(facts, divergence, forward)
    odd, reference = wording.ranks(divergence.odd), wording.ranks(divergence.reference)
    return diagnosis(
        NO_SYNC_MISMATCH,
        facts.waiting,
        confidence=confidence,
        blame=divergence.blame(confidence),
        culprits=divergence.culprits,
        summary=f"{odd} ran a step under no_sync at {wording.place(site)} that {reference} synchronised",
        why=(
            f"{odd.capitalize()} reduced no gradients in a backward in which {reference} did, so all later reductions "
            f"were paired with the wrong step: {reference} {wording.verb(divergence.reference, 'is', 'are')} in "
            f"{wording.waiting(facts, divergence.reference)}, {odd} in {wording.waiting(facts, divergence.odd)}. The "
            "weights of the ranks differ from there on."
        ),
        fix=(
            "Derive the accumulation boundary from the step number, which is the same on all ranks, or agree on it "
            "first."
        ),
        locations=(facts.location(divergence.odd, site), *facts.locations_of((*divergence.reference, *divergence.odd))),
        evidence=(
            *patterns.parted_by(facts, divergence),
            *(line for rank in (*divergence.odd, *divergence.reference) for line in _evidence(facts, rank)),
        ),
    )


def _block(facts: Facts, divergence: Divergence, forward: Site) -> Site:
    """The `with` in which the forward ran without synchronisation, in its function or in one that called it."""
    step = divergence.odd_next
    for frame in (forward, *(step.path if step else ())):
        known = not facts.is_library(frame.file)
        block = enclosing.with_block(facts.program, frame, unshared()) if known else None
        if block is not None:
            return Site(frame.file, block.first, frame.function)
    return relative_position.users_line(facts, divergence.odd, forward)


def _evidence(facts: Facts, rank: Rank) -> Iterator[str]:
    counters = facts.counters(rank)
    if counters:
        yield (
            f"rank {rank}: {counters.forwards} synchronising forwards, {counters.forwards_no_sync} under no_sync, "
            f"{counters.backward_entered} backwards"
        )
