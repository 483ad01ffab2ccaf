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
histories, or that DDP's reducer was not prepared for a backward of one rank, as in Lightning's `block_backward_sync()`.
It is `likely` if only the counts show it: as many forwards, of which fewer were synchronised.

## References
https://github.com/modelscope/FunASR/issues/3472 https://github.com/mosaicml/composer/pull/1690
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import NO_SYNC_MISMATCH
from ddpdoctor.diagnose.conditions import synchronising, unshared
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import decisions, relative_position, synchronised_forwards
from ddpdoctor.diagnose.divergence.batch_counts import whole_step
from ddpdoctor.diagnose.divergence.causes import Cause, divergences_of
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.patterns import Pattern
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for divergence in divergences_of(facts, Cause.NO_SYNC):
        if divergence.pattern is Pattern.NO_SYNC and divergence.odd_next:
            yield _diagnosis(facts, divergence, divergence.odd_next)
        elif found := synchronised_forwards.fewer(facts, divergence):
            yield _diagnosis(facts, found.divergence, found.forward)


def _diagnosis(facts: Facts, divergence: Divergence, forward: HistoryStep) -> Diagnosis:
    # The others' marks may differ in both directions: an accumulation out of step diverges more than once.
    counts = [facts.counters(rank) for rank in (*divergence.odd, *divergence.reference)]
    differ = len({c.forwards_no_sync for c in counts if c}) > 1
    step = divergence.pattern is Pattern.NO_SYNC
    # nor can a step that was split in two be told from one that does not reduce, unless batches are seen
    sure = step and differ and divergence.unique and whole_step(facts, divergence) is not None
    confidence = weaker(Confidence.CERTAIN if sure else Confidence.LIKELY, divergence.cap)
    site = _block(facts, divergence, forward)
    odd, reference = wording.ranks(divergence.odd), wording.ranks(divergence.reference)
    return diagnosis(
        NO_SYNC_MISMATCH,
        facts.waiting,
        confidence=confidence,
        blame=divergence.blame(confidence),
        culprits=divergence.culprits,
        summary=(
            f"{odd} ran a step under no_sync at {wording.place(site)} that {reference} synchronised"
            if step
            else f"{odd} ran more forwards under no_sync at {wording.place(site)} than {reference}"
        ),
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
        locations=(
            *((facts.location(divergence.odd, site),) if site else ()),
            *facts.locations_of((*divergence.reference, *divergence.odd)),
        ),
        evidence=(
            *decisions.parted_by(facts, divergence),
            *(line for rank in (*divergence.odd, *divergence.reference) for line in _evidence(facts, rank)),
        ),
    )


def _block(facts: Facts, divergence: Divergence, forward: HistoryStep) -> Site | None:
    """What decided that the forward was not synchronised, in its function or in one that called it: the `with`, or the
    call by which a framework was told.
    """
    frames = [frame for frame in (forward.site, *forward.path) if frame and not facts.is_library(frame.file)]
    for frame in frames:
        block = enclosing.with_block(facts.program, frame, unshared())
        if block is not None:
            return Site(frame.file, block.first, frame.function)
    told = (enclosing.first_call(facts.program, frame, unshared() | synchronising()) for frame in frames)
    line = next(filter(None, told), None)
    return line or (relative_position.users_line(facts, divergence.odd, forward.site) if forward.site else None)


def _evidence(facts: Facts, rank: Rank) -> Iterator[str]:
    counters = facts.counters(rank)
    if counters:
        yield (
            f"rank {rank}: {counters.forwards} synchronising forwards, {counters.forwards_no_sync} under no_sync, "
            f"{counters.backward_entered} backwards"
        )
