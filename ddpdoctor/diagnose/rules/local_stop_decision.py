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
A loop over a generator may also simply have ended (DD201); then this is not reported. `certain` requires that a single
condition in the source can have separated the ranks, and that it does not test for the end of the data (`is None`). A
condition whose value comes from the rank is DD203.

## References
https://github.com/Lightning-AI/pytorch-lightning/issues/379 https://github.com/pytorch/pytorch/issues/22834
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import LOCAL_STOP_DECISION
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import loader_errors, patterns
from ddpdoctor.diagnose.divergence.branch_points import Choice, Kind
from ddpdoctor.diagnose.divergence.causes import special
from ddpdoctor.diagnose.divergence.patterns import Shape, Story
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis

#: what marks the end of data in loops that fetch for themselves
_SENTINEL = re.compile(r"\bis (not )?None\b")


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for story in patterns.stories(facts):
        if loader_errors.loader_raised(facts, story):
            continue
        conditions = [choice for choice in story.choices if choice.kind is Kind.CONDITION]
        kinds = {choice.kind for choice in story.choices}
        left = story.shape is Shape.LEFT_LOOP and conditions and Kind.DATA not in kinds
        if (left or patterns.decided_alone(facts, story)) and special(facts, story) is None:
            yield _diagnosis(facts, story, conditions, left=bool(left))


def _diagnosis(facts: Facts, story: Story, conditions: list[Choice], *, left: bool) -> Diagnosis:
    # `while batch is not None` asks whether the data have ended: that is DD201
    ended = any(_SENTINEL.search(choice.text) for choice in conditions)
    sure = left and len(story.choices) == 1 and story.unique and not ended
    confidence = weaker(Confidence.CERTAIN if sure else Confidence.LIKELY, story.cap)
    first = story.place(conditions[-1])
    actors, others = wording.ranks(story.actors), wording.ranks(story.others)
    what = "left the loop" if left else f"went to {story.act.op if story.act else 'a call'} alone"
    return Diagnosis(
        LOCAL_STOP_DECISION.code,
        LOCAL_STOP_DECISION.name,
        confidence,
        story.blame(confidence),
        story.culprits,
        facts.waiting - story.culprits,
        f"{actors} {what} at {wording.place(first)} while {others} went on to {wording.step(story.instead)}",
        f"{actors.capitalize()} {wording.now(facts, story.actors)}; {others}, not on the way there, "
        f"{wording.now(facts, story.others)}. A condition that each rank evaluates on its own values parted them.",
        "Decide together: all_reduce the flag or the metric, and let every rank act on the result.",
        (facts.location(story.culprits, first), *facts.standing_locations((*story.others, *story.actors))),
        (
            f"the histories part: {wording.step(story.act)} against {wording.step(story.instead)}",
            *patterns.parted_by(facts, story),
        ),
    )
