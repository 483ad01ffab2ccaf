"""# DD205 one-rank-forward-through-ddp

## What
One rank runs a forward through the DDP or FSDP wrapper that the others do not run, usually to evaluate on rank 0.

## Why it hangs
DDP's forward first broadcasts the module's buffers (BatchNorm statistics) to all ranks; FSDP's forward gathers the
parameters from them. The other ranks are not in a forward but in the next collective of their own path, and both sides
wait.

## Example
    if rank == 0:
        model.eval()
        accuracy = evaluate(model, held_out)     # model is the DDP wrapper
    dist.barrier()

## Fix
Evaluate through the wrapped module (`model.module(x)`, DDP only), or evaluate on all ranks and reduce the result.

## When it is wrong
Without buffers, such a forward communicates nothing and is harmless; then nothing is reported.

## References
https://github.com/pytorch/pytorch/issues/54059 https://github.com/pytorch/pytorch/issues/72897
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import ONE_RANK_FORWARD_THROUGH_DDP
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import call_conditions, patterns, relative_position
from ddpdoctor.diagnose.divergence.patterns import Shape, Story
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.stacks import Site


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for story in patterns.stories(facts):
        if story.shape is Shape.EXTRA_FORWARD and story.act and story.act.site:
            yield _diagnosis(facts, story, story.act.site)


def _diagnosis(facts: Facts, story: Story, called: Site) -> Diagnosis:
    condition = call_conditions.condition_of(facts, called, story.actors, story.others)
    sure = story.unique and (condition is not None or len(story.choices) == 1)
    confidence = weaker(Confidence.CERTAIN if sure else Confidence.LIKELY, story.cap)
    site = relative_position.users_line(facts, story.actors, called)
    actors, others = wording.ranks(story.actors), wording.ranks(story.others)
    shards = story.act is not None and not story.act.op.startswith("broadcast")
    what = "gathers the sharded parameters" if shards else "broadcasts buffers"
    evidence = [
        f"{others} never ran a forward at {wording.place(called)}; {actors} did",
        f"that forward {what}: {wording.waiting(facts, story.actors)}",
    ]
    evidence.extend(patterns.parted_by(facts, story))
    return Diagnosis(
        ONE_RANK_FORWARD_THROUGH_DDP.code,
        ONE_RANK_FORWARD_THROUGH_DDP.name,
        confidence,
        confidence,
        story.culprits,
        facts.waiting - story.culprits,
        f"only {actors} {wording.verb(story.actors, 'runs', 'run')} a forward through the wrapped model at "
        f"{wording.place(site)}; {others} {wording.verb(story.others, 'is', 'are')} in "
        f"{wording.waiting(facts, story.others)}",
        f"The wrapper's forward {what} {'from' if shards else 'to'} all ranks. {actors.capitalize()} "
        f"{wording.verb(story.actors, 'waits', 'wait')} for ranks that run no forward here; {others} "
        f"{wording.verb(story.others, 'waits', 'wait')} for {actors} in another operation.",
        "Evaluate on every rank."
        if shards
        else "Evaluate through the module inside the wrapper (`model.module(x)`), or on every rank.",
        (facts.location(story.actors, site), *facts.standing_locations((*story.others, *story.actors))),
        tuple(evidence),
    )
