"""# DD207 skipped-batch

## What
One rank skipped a batch that the others trained on: a `continue` for a NaN loss, an empty or broken sample.

## Why it hangs
The rank issued one gradient all-reduce fewer. From then on its collectives pair silently with the others' previous
ones, until the last step of the epoch leaves the others without a partner.

## Example
    loss = model(batch).sum()
    if not torch.isfinite(loss):
        continue                             # this rank, this batch only
    loss.backward()

## Fix
Never skip on one rank: multiply the bad loss by zero so that the same graph runs (`loss = torch.nan_to_num(loss) * 0`),
or agree on the skip with an all_reduce(MAX) of a flag and skip on every rank.

## When it is wrong
A caught exception (DD208) skips in the same way; if the source shows a `try` around the step, this is only `likely`.

## References
https://github.com/Lightning-AI/pytorch-lightning/issues/5243 https://github.com/NVIDIA-NeMo/Automodel/issues/2468
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import shapes, source, wording
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.histories import Step
from ddpdoctor.diagnose.outcome import weaker
from ddpdoctor.diagnose.rule import Rule
from ddpdoctor.diagnose.shapes import Shape, Story
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.evidence import Source
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.stacks import Site

RULE = Rule(
    code="DD207",
    name="skipped-batch",
    requires=frozenset({Source.PAGES}),
    excludes=("DD201", "DD206", "DD208", "DD209", "DD217"),
    lint=("DD113", "DD114"),
    fixture="skipped-batch",
    specificity=60,
)


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for story in shapes.stories(facts):
        if story.shape is Shape.SKIPPED and story.instead and not shapes.only_an_exception(facts, story):
            yield _diagnosis(facts, story, story.instead)


def _diagnosis(facts: Facts, story: Story, skipped: Step) -> Diagnosis:
    jump = _jump(facts, story, skipped)
    caught = _may_catch(facts, skipped)
    agree = _counters_agree(facts, story, skipped)
    sure = agree and story.unique and jump is not None and not caught
    confidence = weaker(Confidence.CERTAIN if sure else Confidence.LIKELY, story.cap)
    what = "backward" if skipped.kind is EventKind.BACKWARD else "forward and backward"
    actors = wording.ranks(story.actors)
    site = jump or (story.parting.before.site if story.parting.before else None) or skipped.site
    locations = (facts.location(story.actors, site),) if site else ()
    return Diagnosis(
        RULE.code,
        RULE.name,
        confidence,
        confidence,
        story.culprits,
        facts.waiting - story.culprits,
        f"{actors} skipped the {what} of a batch"
        f"{f' at {wording.place(site)}' if site else ''} that {wording.ranks(story.others)} trained on",
        f"{actors.capitalize()} issued one gradient all-reduce fewer than {wording.ranks(story.others)}, so all later "
        f"ones were paired with the wrong step until none was left: {wording.ranks(story.others)} "
        f"{wording.verb(story.others, 'is', 'are')} in {wording.waiting(facts, story.others)}, {actors} in "
        f"{wording.waiting(facts, story.actors)}.",
        "Do not skip on one rank: multiply the bad loss by zero and run backward all the same, or let all ranks agree "
        "on the skip with an all_reduce(MAX) of a flag.",
        (*locations, *facts.standing_locations((*story.others, *story.actors))),
        tuple(_evidence(facts, story, skipped, jump, caught)),
    )


def _jump(facts: Facts, story: Story, skipped: Step) -> Site | None:
    """The one `continue` or `return` between the last thing that both did and what was skipped."""
    jumps = shapes.ways_past(facts, story, skipped)
    if len(jumps) != 1 or skipped.site is None:
        return None
    return Site(jumps[0].file, jumps[0].line, skipped.site.function)


def _may_catch(facts: Facts, skipped: Step) -> source.Span | None:
    """A `try` around what was skipped: an exception may have been caught instead (DD208)."""
    return source.swallowing_handler(facts.evidence.code, skipped.site) if skipped.site else None


def _counters_agree(facts: Facts, story: Story, skipped: Step) -> bool:
    """Forwards equal and one backward fewer, or one fewer of both; counters lose nothing."""

    def values(ranks: RankSet, forwards: bool) -> list[int]:
        found = [facts.counters(rank) for rank in ranks]
        return [c.forwards if forwards else c.backward_entered for c in found if c]

    ours, theirs = values(story.actors, False), values(story.others, False)
    if len(ours) != len(story.actors) or len(theirs) != len(story.others):
        return False
    fewer_backwards = max(ours) < min(theirs)
    forwards = max(values(story.actors, True)), min(values(story.others, True))
    return fewer_backwards and (forwards[0] == forwards[1]) is (skipped.kind is EventKind.BACKWARD)


def _evidence(
    facts: Facts, story: Story, skipped: Step, jump: Site | None, caught: source.Span | None
) -> Iterator[str]:
    yield f"the histories part: {wording.step(story.act)} against {wording.step(skipped)}"
    for rank in (*story.actors, *story.others):
        counters = facts.counters(rank)
        if counters:
            yield (
                f"rank {rank}: {wording.batches(counters.delivered)}, {counters.forwards} forwards, "
                f"{counters.backward_entered} backwards entered"
            )
    if jump:
        yield f"`{facts.line(jump)}` at {wording.place(jump)} is the only way past it"
    if caught:
        yield f"a `try` at line {caught.first} may have caught an exception instead (DD208)"
