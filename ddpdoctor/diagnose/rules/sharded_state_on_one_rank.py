"""# DD204 sharded-state-on-one-rank

## What
Only one rank requests the state of a sharded model (FSDP, ZeRO-3): a state dict, full parameters, a checkpoint.

## Why it hangs
No rank holds the complete parameters. Requesting them is an all_gather of every shard, and the other ranks do not join
it: they are already in a barrier or in the next step.

## Example
    if rank == 0:
        state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
        torch.save(state, path)

## Fix
Request the state on every rank, and write the file on one.

## When it is wrong
If rank 0 is busy writing a state that it already has in memory, no collective is in progress, and this is not reported
(DD232). A rank that left its loop earlier and saves after it is DD206; the histories distinguish the two.

## References
https://github.com/pytorch/pytorch/issues/77562 https://github.com/huggingface/accelerate/issues/2000
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import SHARDED_STATE_ON_ONE_RANK
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import patterns, relative_position
from ddpdoctor.diagnose.divergence.causes import Special, state_call, told_by
from ddpdoctor.diagnose.divergence.patterns import Story
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.stacks import Site


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for story, _ in told_by(facts, Special.SHARDED_STATE):
        if story.act and story.act.site:
            yield _diagnosis(facts, story, story.act.site)


def _diagnosis(facts: Facts, story: Story, called: Site) -> Diagnosis:
    function = state_call(facts, story.act, story.actors) if story.act else ""
    site = relative_position.users_line(facts, story.actors, called)
    never = story.act is not None and not relative_position.made_by(facts, story.act, story.others)
    inside = all(rank in facts.waiting and _in_call(facts, rank, called) for rank in story.actors)
    sure = never and story.unique and inside and story.minority
    confidence = weaker(Confidence.CERTAIN if sure else Confidence.LIKELY, story.cap)
    actors, others = wording.ranks(story.actors), wording.ranks(story.others)
    return Diagnosis(
        SHARDED_STATE_ON_ONE_RANK.code,
        SHARDED_STATE_ON_ONE_RANK.name,
        confidence,
        story.blame(confidence),
        story.culprits,
        facts.waiting - story.culprits,
        f"only {actors} {wording.verb(story.actors, 'calls', 'call')} {function} at {wording.place(site)}; "
        f"{others} went on to {wording.step(story.instead)}",
        f"{function} gathers the shards of all ranks. {actors.capitalize()} "
        f"{wording.verb(story.actors, 'is', 'are')} in {wording.waiting(facts, story.actors)} for it; {others} did not "
        f"come there and {wording.verb(story.others, 'is', 'are')} in {wording.waiting(facts, story.others)}.",
        f"Call {function} on every rank, and let one rank write the file.",
        (facts.location(story.actors, site), *facts.standing_locations((*story.others, *story.actors))),
        (
            f"the histories part: {wording.step(story.act)} against {wording.step(story.instead)}",
            *patterns.parted_by(facts, story),
        ),
    )


def _in_call(facts: Facts, rank: int, called: Site) -> bool:
    """The rank still stands in the call."""
    wait = next((w for r, w in ((r, facts.wait(r)) for r in facts.waiting) if r == rank), None)
    return wait is not None and wait.site == called
