"""# DD219 group-creation-mismatch

## What
`new_group` was called by some ranks only, most often by its members alone.

## Why it hangs
Creating a group is a collective of all ranks, also of those that will not be members, and groups are told apart by how
many were made before. The one that only some made is not missed; the next one is another group on either side.

## Example
    for members in layout:
        if rank in members:
            group = dist.new_group(members)

## Fix
Call `new_group` on every rank for every group in the same order, or give `use_local_synchronization=True` to each.

## When it is wrong
Why a rank did not come is not asked: it may have left a loop before. So it is at most `likely`.

## References
https://github.com/pytorch/pytorch/issues/81291 https://github.com/pytorch/pytorch/issues/130102
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import shapes, whereabouts, wording
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.outcome import weaker
from ddpdoctor.diagnose.rule import Rule
from ddpdoctor.diagnose.shapes import Story
from ddpdoctor.diagnose.special import Special, told_by
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.evidence import Source
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.stacks import Site

RULE = Rule(
    code="DD219",
    name="group-creation-mismatch",
    requires=frozenset({Source.PAGES}),
    excludes=("DD203", "DD252"),
    lint=("DD117",),
    fixture="group-creation-mismatch",
    specificity=60,
)


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for story, _ in told_by(facts, Special.GROUP_CREATION):
        if story.act and story.act.site:
            yield _diagnosis(facts, story, story.act.site)


def _diagnosis(facts: Facts, story: Story, called: Site) -> Diagnosis:
    site = whereabouts.users_line(facts, story.actors, called)
    confidence = weaker(Confidence.LIKELY, story.cap)
    culprits = RankSet() if story.tie else story.culprits
    made, missed = wording.ranks(story.actors), wording.ranks(story.others)
    return Diagnosis(
        RULE.code,
        RULE.name,
        confidence,
        Confidence.POSSIBLE if story.tie else confidence,
        culprits,
        facts.waiting - culprits,
        f"{missed} did not call {story.act.op if story.act else 'new_group'} at {wording.place(site)}, {made} did",
        f"Every rank of the job must create every group, members or not, in one order. {made.capitalize()} "
        f"{wording.verb(story.actors, 'has', 'have')} made one more than {missed}; what is made next does not belong "
        f"together: {made} {wording.verb(story.actors, 'is', 'are')} in {wording.waiting(facts, story.actors)}, "
        f"{missed} {wording.verb(story.others, 'is', 'are')} in {wording.waiting(facts, story.others)}.",
        f"Call new_group at {wording.place(site)} on every rank, and keep the result on the members; or give "
        "use_local_synchronization=True.",
        (facts.location(culprits or story.actors, site), *facts.standing_locations((*story.actors, *story.others))),
        (
            f"the histories part: {wording.step(story.act)} against {wording.step(story.instead)}",
            *shapes.parted_by(facts, story),
        ),
    )
