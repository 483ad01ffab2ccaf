"""# DD208 swallowed-exception

## What
An exception on one rank (out of memory, a bad sample, a full disk) was caught, and the rank continued with its next
batch without the remaining work of the `try`.

## Why it hangs
The rank issued one gradient all-reduce, or one barrier, fewer. From then on its collectives are paired with earlier
ones of the other ranks, or with none, until the others are left without a partner.

## Example
    try:
        loss = model(batch).sum()
        loss.backward()
    except torch.OutOfMemoryError:
        continue                             # on this rank only

## Fix
Let the exception end the job, or let all ranks agree on the retry through a collective outside the `try`.

## When it is wrong
An exception of a DataLoader is recorded, and if the rank continued without that batch, the diagnosis is `certain`. Any
other caught exception leaves no trace: the diagnosis then rests on the work being in a `try` and nothing else leading
past it. A generator that silently drops batches (DD207) cannot be excluded, so it is `likely`. It is `certain` only if
one of the program's own collectives is skipped and one `except` is the only path past it.

## References
https://github.com/pytorch/pytorch/issues/18853 https://github.com/pytorch/pytorch/issues/44353
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import SWALLOWED_EXCEPTION
from ddpdoctor.diagnose.digest.histories import Step
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import loader_errors, patterns
from ddpdoctor.diagnose.divergence.patterns import Shape, Story
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.source_reading import except_clauses
from ddpdoctor.diagnose.source_reading.cfg_model import Way
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.stacks import Site


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for story in patterns.stories(facts):
        loader = loader_errors.loader_raised(facts, story)
        if loader:
            yield _of_loader(facts, story, loader)
        elif patterns.only_an_exception(story) and story.instead and story.instead.site:
            yield _diagnosis(facts, story, story.instead, story.instead.site)


def _of_loader(facts: Facts, story: Story, loader: Site) -> Diagnosis:
    """The data iterator was seen to raise, and the rank went on: somebody caught it."""
    confidence = weaker(Confidence.CERTAIN if story.unique else Confidence.LIKELY, story.cap)
    handler = except_clauses.handler_of_next(facts.evidence.code, loader)
    actors, others = wording.ranks(story.actors), wording.ranks(story.others)
    return Diagnosis(
        SWALLOWED_EXCEPTION.code,
        SWALLOWED_EXCEPTION.name,
        confidence,
        story.blame(confidence),
        story.culprits,
        facts.waiting - story.culprits,
        f"the data loader of {wording.place(loader)} raised on {actors}, which went on without that batch",
        f"{actors.capitalize()} caught the exception and issued fewer gradient all-reduces than {others}, so all later "
        f"operations meet the wrong ones: {others} {wording.now(facts, story.others)}, {actors} "
        f"{wording.now(facts, story.actors)}.",
        "Do not catch it on one rank: mend or leave out the bad sample in the dataset itself, so that every batch is "
        "delivered on every rank, or let the exception end the job.",
        (facts.location(story.culprits, handler or loader), *facts.standing_locations((*story.others, *story.actors))),
        (f"the histories part: {wording.step(story.act)} against {wording.step(story.instead)}",),
    )


def _diagnosis(facts: Facts, story: Story, skipped: Step, site: Site) -> Diagnosis:
    # a call that stands in the program's own lines cannot be dropped in silence, as a generator drops a batch
    sure = skipped.kind is EventKind.CALL and story.unique and len(story.choices) == 1
    confidence = weaker(Confidence.CERTAIN if sure else Confidence.LIKELY, story.cap)
    handlers = [choice for choice in story.choices if choice.way is Way.RAISED]
    caught = handlers[0].site if handlers else site
    actors, others = wording.ranks(story.actors), wording.ranks(story.others)
    return Diagnosis(
        SWALLOWED_EXCEPTION.code,
        SWALLOWED_EXCEPTION.name,
        confidence,
        story.blame(confidence),
        story.culprits,
        facts.waiting - story.culprits,
        f"{actors} {_what(story, skipped)} {wording.step(skipped)}; only the `except` at {wording.place(caught)} leads "
        "there",
        f"{actors.capitalize()} issued fewer {_left_out(skipped)} than {others}, so all later operations meet "
        f"the wrong ones: {others} {wording.now(facts, story.others)}, {actors} {wording.now(facts, story.actors)}.",
        "Do not catch it on one rank: let it end the job, or agree on the retry with an all_reduce outside the `try`.",
        (facts.location(story.culprits, caught), *facts.standing_locations((*story.others, *story.actors))),
        (
            f"the histories part: {wording.step(story.act)} against {wording.step(skipped)}",
            *patterns.parted_by(facts, story),
            "no condition leads past it",
        ),
    )


def _what(story: Story, skipped: Step) -> str:
    if skipped.kind is EventKind.CALL:
        return "went on without"
    return "left a batch out without" if story.shape is Shape.SKIPPED else "left the loop without"


def _left_out(skipped: Step) -> str:
    return f"calls of {skipped.op}" if skipped.kind is EventKind.CALL else "gradient all-reduces"
