"""# DD207 skipped-batch

## What
One rank skipped a batch that the others trained on: a `continue` after a NaN loss, an empty or broken sample.

## Why it hangs
The rank issued one gradient all-reduce fewer. From then on its collectives are silently paired with earlier ones of the
other ranks, until the last step of the epoch leaves the others without a partner.

## Example
    loss = model(batch).sum()
    if not torch.isfinite(loss):
        continue                             # this rank, this batch only
    loss.backward()

## Fix
Never skip on one rank: multiply the bad loss by zero so that the same graph runs (`loss = torch.nan_to_num(loss) * 0`),
or agree on the skip with an all_reduce(MAX) of a flag and skip on every rank.

## When it is wrong
A caught exception (DD208) also skips a batch. If the source shows both a condition and a `try` that lead past the step,
this is not reported (DD299 gives both explanations); with several conditions it is only `likely`.

## References
https://github.com/Lightning-AI/pytorch-lightning/issues/5243 https://github.com/NVIDIA-NeMo/Automodel/issues/2468
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import SKIPPED_BATCH
from ddpdoctor.diagnose.digest.histories import Step
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import patterns
from ddpdoctor.diagnose.divergence.branch_points import Kind
from ddpdoctor.diagnose.divergence.patterns import Shape, Story
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Rank


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for story in patterns.stories(facts):
        caught = patterns.only_an_exception(story) or patterns.perhaps_an_exception(story)
        if story.shape is Shape.SKIPPED and story.instead and not caught:
            yield _diagnosis(facts, story, story.instead)


def _diagnosis(facts: Facts, story: Story, skipped: Step) -> Diagnosis:
    decided = [choice for choice in story.choices if choice.kind is Kind.CONDITION]
    jump = story.place(decided[0]) if len(decided) == 1 else None
    sure = _counters_agree(facts, story, skipped) and story.unique and jump is not None and len(story.choices) == 1
    confidence = weaker(Confidence.CERTAIN if sure else Confidence.LIKELY, story.cap)
    what = "backward" if skipped.kind is EventKind.BACKWARD else "forward and backward"
    actors = wording.ranks(story.actors)
    site = jump or (story.parting.before.site if story.parting.before else None) or skipped.site
    locations = (facts.location(story.culprits, site),) if site else ()
    return Diagnosis(
        SKIPPED_BATCH.code,
        SKIPPED_BATCH.name,
        confidence,
        story.blame(confidence),
        story.culprits,
        facts.waiting - story.culprits,
        f"{actors} skipped the {what} of a batch"
        f"{f' at {wording.place(site)}' if site else ''} that {wording.ranks(story.others)} trained on",
        f"{actors.capitalize()} issued one gradient all-reduce fewer than {wording.ranks(story.others)}, so all later "
        f"ones were paired with the wrong step until none was left: {wording.ranks(story.others)} "
        f"{wording.now(facts, story.others)}, {actors} {wording.now(facts, story.actors)}.",
        "Do not skip on one rank: multiply the bad loss by zero and run backward all the same, or let all ranks agree "
        "on the skip with an all_reduce(MAX) of a flag.",
        (*locations, *facts.standing_locations((*story.others, *story.actors))),
        tuple(_evidence(facts, story, skipped)),
    )


def _counters_agree(facts: Facts, story: Story, skipped: Step) -> bool:
    """The counters, which lose nothing, tell the same: more batches without a forward, or that without a backward."""
    gaps = {rank: _gap(facts, rank, story, skipped) for rank in (*story.actors, *story.others)}
    ours = [gap for rank in story.actors if (gap := gaps[rank]) is not None]
    theirs = [gap for rank in story.others if (gap := gaps[rank]) is not None]
    return len(ours) + len(theirs) == len(gaps) and min(ours) > max(theirs)


def _gap(facts: Facts, rank: Rank, story: Story, skipped: Step) -> int | None:
    """How many batches of this rank went without what was skipped, apart from the one that it is at."""
    counters, history = facts.counters(rank), facts.histories.get(rank)
    if counters is None or history is None:
        return None
    forwards = counters.forwards + counters.forwards_no_sync
    if skipped.kind is EventKind.BACKWARD:
        at_forward = bool(history.steps) and history.steps[-1].kind is EventKind.FORWARD
        return forwards - counters.backward_entered - at_forward
    site = story.parting.before.site if story.parting.before else None
    loader = next((count for count in counters.loaders if count.site == site), None)
    return loader.delivered - forwards if loader else None


def _evidence(facts: Facts, story: Story, skipped: Step) -> Iterator[str]:
    yield f"the histories part: {wording.step(story.act)} against {wording.step(skipped)}"
    yield from patterns.parted_by(facts, story)
    for rank in (*story.actors, *story.others):
        counters = facts.counters(rank)
        if counters:
            yield (
                f"rank {rank}: {wording.batches(counters.delivered)}, {counters.forwards} forwards, "
                f"{counters.backward_entered} backwards entered"
            )
