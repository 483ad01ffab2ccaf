"""# DD203 rank-conditional-collective

## What
Only some ranks call a collective, most often under `if rank == 0:` or inside a helper that only rank 0 calls.

## Why it hangs
A collective returns when every rank of its group has entered it. The other ranks do not reach it: they are already in
the next collective of the normal path, which in turn needs the rank that waits here.

## Example
    if step % save_every == 0 and rank == 0:
        torch.save(model.state_dict(), path)
        dist.barrier()                       # only rank 0 gets here

## Fix
Move the collective out of the condition so that every rank calls it; compute on all ranks and write on one.

## When it is wrong
A rank that left its loop early (DD206) is also in a call that the others have not reached. Source and stacks
distinguish the two; without them this is not called `certain`.

## References
https://github.com/huggingface/accelerate/issues/2690 https://github.com/Lightning-AI/pytorch-lightning/issues/18148
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import RANK_CONDITIONAL_COLLECTIVE
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import barrier_pairing, patterns, relative_position
from ddpdoctor.diagnose.divergence.causes import special
from ddpdoctor.diagnose.divergence.patterns import Shape, Story
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.offline import stacks_only
from ddpdoctor.diagnose.source_reading import source
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.stacks import Site


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for story in patterns.stories(facts):
        extra = story.shape is Shape.EXTRA_CALL and not patterns.decided_alone(facts, story)
        if extra and story.act and story.act.site and special(facts, story) is None:
            yield _diagnosis(facts, story, story.act.site)
    alone = stacks_only.extra_call(facts) if facts.outcome is Outcome.HANG else None
    if alone is not None:
        yield _by_standing(facts, alone)


def _by_standing(facts: Facts, extra: stacks_only.Extra) -> Diagnosis:
    """From stacks and source alone: what the ranks did before is not known, so it is at most likely."""
    actors, others = wording.ranks(extra.actors), wording.ranks(extra.others)
    blamed = Confidence.POSSIBLE if len(extra.actors) == len(extra.others) else Confidence.LIKELY
    condition = (extra.where, extra.condition)
    return Diagnosis(
        RANK_CONDITIONAL_COLLECTIVE.code,
        RANK_CONDITIONAL_COLLECTIVE.name,
        Confidence.LIKELY,
        blamed,
        extra.culprits,
        facts.waiting - extra.culprits,
        f"only {actors} can come to {extra.op} at {wording.place(extra.site)}; "
        f"{others} {wording.now(facts, extra.others)}",
        f"Every rank of a group must enter the same collectives in the same order. {actors.capitalize()} "
        f"{wording.verb(extra.actors, 'stands', 'stand')} in one that is reached only past a condition on the rank.",
        _fix(extra.op, condition),
        (facts.location(extra.actors, extra.site), *facts.standing_locations(extra.others)),
        (
            f"{wording.place(extra.where)} is reached only past `{extra.condition.text}`",
            f"{others} {wording.verb(extra.others, 'stands', 'stand')} past no such condition",
        ),
    )


def _diagnosis(facts: Facts, story: Story, called: Site) -> Diagnosis:
    site = relative_position.users_line(facts, story.actors, called)
    never = story.act is not None and not relative_position.made_by(facts, story.act, story.others)
    condition = patterns.condition_on_rank(facts, story)
    # A barrier that paired with a later one is a neighbour of its own (DD212), a condition on data another (DD206).
    barrier = "barrier" in (story.act.op if story.act else "")
    paired_on = barrier and (story.parting.inserted() or barrier_pairing.first_pair(facts, story) is not None)
    sure = never and story.unique and condition is not None and not paired_on
    confidence = weaker(Confidence.CERTAIN if sure else Confidence.LIKELY, story.cap)
    op = story.act.op if story.act else "a collective"
    actors = wording.ranks(story.actors)
    return Diagnosis(
        RANK_CONDITIONAL_COLLECTIVE.code,
        RANK_CONDITIONAL_COLLECTIVE.name,
        confidence,
        confidence if not story.tie or never else Confidence.LIKELY,
        story.culprits,
        facts.waiting - story.culprits,
        f"only {actors} {wording.verb(story.actors, 'calls', 'call')} {op} at {wording.place(site)}; "
        f"{wording.ranks(story.others)} went on to {wording.step(story.instead)}",
        f"Every rank of a group must enter the same collectives in the same order. {actors.capitalize()} entered {op} "
        f"at {wording.place(site)}, which {wording.ranks(story.others)} did not; "
        f"{wording.verb(story.others, 'it', 'they')} {wording.now(facts, story.others)}.",
        _fix(op, condition),
        (facts.location(story.actors, site), *facts.standing_locations((*story.others, *story.actors))),
        (*_evidence(story, op, site, condition, never), *patterns.parted_by(facts, story)),
    )


def _fix(op: str, condition: tuple[Site, source.Span] | None) -> str:
    if condition:
        where, span = condition
        line = wording.place(Site(where.file, span.first, where.function))
        return f"Move {op} out of `{span.text}` ({line}) so that all ranks call it."
    return f"Call {op} on every rank of the group, or on none; write files on one rank, communicate on all."


def _evidence(
    story: Story, op: str, site: Site, condition: tuple[Site, source.Span] | None, never: bool
) -> Iterator[str]:
    where = wording.place(site)
    others = wording.ranks(story.others)
    if never:
        yield f"{others} never made a call at {where}; {wording.ranks(story.actors)} did"
    else:
        yield f"{wording.ranks(story.actors)} made one more {op} at {where} than {others}"
    yield f"the histories part there: {wording.step(story.act)} against {wording.step(story.instead)}"
    if condition:
        yield f"{wording.place(condition[0])} is reached only past `{condition[1].text}` (line {condition[1].first})"
