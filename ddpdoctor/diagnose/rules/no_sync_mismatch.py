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
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import patterns
from ddpdoctor.diagnose.divergence.patterns import Shape, Story
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.source_reading import source
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for story in patterns.stories(facts):
        if story.shape is Shape.NO_SYNC and story.act and story.act.site:
            yield _diagnosis(facts, story, story.act.site)


def _diagnosis(facts: Facts, story: Story, forward: Site) -> Diagnosis:
    # The others' marks may differ back and forth: an accumulation that is out of step parts more than once.
    counts = [facts.counters(rank) for rank in (*story.actors, *story.others)]
    differ = len({c.forwards_no_sync for c in counts if c}) > 1
    confidence = weaker(Confidence.CERTAIN if differ and story.unique else Confidence.LIKELY, story.cap)
    block = source.no_sync_block(facts.evidence.code, forward)
    site = Site(forward.file, block.first, forward.function) if block else forward
    actors, others = wording.ranks(story.actors), wording.ranks(story.others)
    return Diagnosis(
        NO_SYNC_MISMATCH.code,
        NO_SYNC_MISMATCH.name,
        confidence,
        story.blame(confidence),
        story.culprits,
        facts.waiting - story.culprits,
        f"{actors} ran a step under no_sync at {wording.place(site)} that {others} synchronised",
        f"{actors.capitalize()} reduced no gradients in a backward in which {others} did, so all later reductions were "
        f"paired with the wrong step: {others} {wording.verb(story.others, 'is', 'are')} in "
        f"{wording.waiting(facts, story.others)}, {actors} in {wording.waiting(facts, story.actors)}. The weights of "
        "the ranks differ from there on.",
        "Derive the accumulation boundary from the step number, which is the same on all ranks, or agree on it first.",
        (facts.location(story.actors, site), *facts.standing_locations((*story.others, *story.actors))),
        (
            *patterns.parted_by(facts, story),
            *(line for rank in (*story.actors, *story.others) for line in _evidence(facts, rank)),
        ),
    )


def _evidence(facts: Facts, rank: Rank) -> Iterator[str]:
    counters = facts.counters(rank)
    if counters:
        yield (
            f"rank {rank}: {counters.forwards} synchronising forwards, {counters.forwards_no_sync} under no_sync, "
            f"{counters.backward_entered} backwards"
        )
