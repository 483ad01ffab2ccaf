"""# DD206 local-stop-decision

## What
One rank decided by itself to leave a loop: early stopping, a time limit, a file that it alone saw.

## Why it hangs
It goes on to what comes behind the loop while the others start another round, whose collectives need it.

## Example
    for epoch in range(epochs):
        train_epoch()
        if stopping.finished(validate()):    # each rank's own validation error
            break
    dist.barrier()

## Fix
Decide together: all_reduce the flag or the metric, and let every rank act on the result.

## When it is wrong
A loop over a generator can also simply have ended (DD201); then this is not said. Where the loop's length is computed,
it may differ between ranks without any `break`: `certain` needs a loop over a DataLoader that had not ended.

## References
https://github.com/Lightning-AI/pytorch-lightning/issues/379 https://github.com/pytorch/pytorch/issues/22834
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import shapes, source, wording
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.outcome import weaker
from ddpdoctor.diagnose.rule import Rule
from ddpdoctor.diagnose.shapes import Loop, Shape, Story
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.evidence import Source
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.stacks import Site

RULE = Rule(
    code="DD206",
    name="local-stop-decision",
    requires=frozenset({Source.PAGES, Source.STACKS, Source.CODE}),
    excludes=("DD201", "DD203", "DD207"),
    fixture="local-stop-decision",
    specificity=55,
)


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for story in shapes.stories(facts):
        if story.shape is not Shape.LEFT_LOOP or not story.source_agrees:
            continue
        loop = shapes.left_loop(facts, story.parting, story.actors, story.others)[1]
        if loop is None:
            continue
        exits = source.loop_exits(facts.evidence.code, loop.file, loop.span)
        unfinished = _has_its_own_loader(facts, story, loop)
        driven = source.iterates(facts.evidence.code, loop.file, loop.span)
        if exits and (unfinished or driven in ("range", "while")):
            yield _diagnosis(facts, story, loop, exits, unfinished)


def _has_its_own_loader(facts: Facts, story: Story, loop: Loop) -> bool:
    """The loop runs over a DataLoader of the actors, whose end would have been seen."""
    return any(
        step.kind is EventKind.NEXT and step.site and (step.site.file, step.site.line) == (loop.file, loop.span.first)
        for rank in story.actors
        for step in facts.histories[rank].steps
    )


def _diagnosis(facts: Facts, story: Story, loop: Loop, exits: tuple[int, ...], unfinished: bool) -> Diagnosis:
    sure = unfinished and len(exits) == 1 and story.unique
    confidence = weaker(Confidence.CERTAIN if sure else Confidence.LIKELY, story.cap)
    function = next((f.function for f in facts.stack(story.others.members[0]) if f.file == loop.file), "")
    places = [Site(loop.file, line, function) for line in exits]
    first = places[0] if len(places) == 1 else Site(loop.file, loop.span.first, function)
    actors, others = wording.ranks(story.actors), wording.ranks(story.others)
    return Diagnosis(
        RULE.code,
        RULE.name,
        confidence,
        story.blame(confidence),
        story.culprits,
        facts.waiting - story.culprits,
        f"{actors} left the loop at {wording.place(first)} while {others} went on to {wording.step(story.instead)}",
        f"{actors.capitalize()} {wording.verb(story.actors, 'is', 'are')} behind the loop, in "
        f"{wording.waiting(facts, story.actors)}, without the loop having ended; {others} "
        f"{wording.verb(story.others, 'is', 'are')} in the next round and "
        f"{wording.verb(story.others, 'waits', 'wait')} in {wording.waiting(facts, story.others)}.",
        "Decide together whether to stop: all_reduce the flag or the metric, and let every rank act on the result.",
        (facts.location(story.actors, first), *facts.standing_locations((*story.others, *story.actors))),
        (
            f"the histories part: {wording.step(story.act)} against {wording.step(story.instead)}",
            f"the loop at lines {loop.span.first}-{loop.span.last} is left by line "
            f"{', '.join(str(line) for line in exits)}",
            "its DataLoader had not ended: no StopIteration" if unfinished else "no iterator of data ended here",
        ),
    )
