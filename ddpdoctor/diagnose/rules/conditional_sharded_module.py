"""# DD210 conditional-sharded-module

## What
A module that communicates in its forward (an FSDP or ZeRO-3 shard, a layer like SyncBatchNorm) ran on some ranks only:
an expert without rows, a batch without pictures, a generation that ended earlier.

## Why it hangs
To run a sharded module all ranks gather its parameters. A rank that leaves the module out gathers the next one's
instead, and from then on the ranks are in collectives of different modules.

## Example
    for number, expert in enumerate(self.experts):       # each one sharded
        if (chosen == number).any():
            mixed[chosen == number] = expert(rows[chosen == number])

## Fix
Run the module on every rank: with a dummy row whose result is multiplied by zero, `synced_gpus=True` for generate,
`set_z3_leaf_modules` for experts under ZeRO-3.

## When it is wrong
A forward that only one rank begins at all is DD205; a collective under a condition on the rank is DD203. Without the
source and stacks it cannot be seen that a module issued the call, and this is not said. It is at most `likely`.

## References
https://github.com/deepspeedai/DeepSpeed/issues/5066 https://github.com/pytorch/pytorch/issues/44957
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import shapes, special, wording
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.outcome import weaker
from ddpdoctor.diagnose.rule import Rule
from ddpdoctor.diagnose.shapes import Story
from ddpdoctor.diagnose.special import Special
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.evidence import Source
from ddpdoctor.model.stacks import Site

RULE = Rule(
    code="DD210",
    name="conditional-sharded-module",
    requires=frozenset({Source.PAGES, Source.STACKS, Source.CODE}),
    excludes=("DD203", "DD205", "DD206", "DD209"),
    fixture="conditional-sharded-module",
    specificity=60,
)


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for story, _ in special.told_by(facts, Special.SHARDED_MODULE):
        if story.act and story.act.site:
            yield _diagnosis(facts, story, story.act.site)


def _diagnosis(facts: Facts, story: Story, called: Site) -> Diagnosis:
    site = shapes.users_line(facts, story.actors, called)
    confidence = weaker(Confidence.LIKELY, story.cap)
    ran, left_out = wording.ranks(story.actors), wording.ranks(story.others)
    op = story.act.op if story.act else "a collective"
    hidden = story.act is not None and special.implicit(facts, story.act)
    what = "the sharded module that is called" if hidden else f"the {op}"
    return Diagnosis(
        RULE.code,
        RULE.name,
        confidence,
        story.blame(confidence),
        story.culprits,
        facts.waiting - story.culprits,
        f"{left_out} did not come to {what} at {wording.place(site)}, {ran} did",
        f"The forward issues {op} at {wording.place(site)}, and every rank must take part. {left_out.capitalize()} "
        f"went on to {wording.step(story.instead)} instead, so all later operations meet the wrong partners: "
        f"{left_out} "
        f"{wording.verb(story.others, 'is', 'are')} in {wording.waiting(facts, story.others)}, {ran} in "
        f"{wording.waiting(facts, story.actors)}.",
        "Run the same modules on every rank: a dummy row times zero keeps an unused one in step.",
        (facts.location(story.culprits, site), *facts.standing_locations((*story.others, *story.actors))),
        (
            f"the histories part: {wording.step(story.act)} against {wording.step(story.instead)}",
            *shapes.parted_by(facts, story),
        ),
    )
