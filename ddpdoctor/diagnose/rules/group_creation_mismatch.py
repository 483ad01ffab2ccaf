"""# DD219 group-creation-mismatch

## What
Only some ranks called `new_group`, most often only the members of the new group.

## Why it hangs
Creating a group is a collective of all ranks, including those that will not be members, and groups are identified by
how many were created before. A group that only some ranks create goes unnoticed; the next group is then a different one
on each side. Ranks that each create the group of their own members, at the same time, have groups of one name with
other members: their communicators look for each other in the same place, and find the wrong ones.

## Example
    for members in layout:
        if rank in members:
            group = dist.new_group(members)

## Fix
Call `new_group` on every rank, for every group, in the same order, or pass `use_local_synchronization=True` to each
call.

## When it is wrong
The diagnosis does not say why a rank did not reach the call; it may have left a loop earlier. It is at most `likely`.

## References
https://github.com/pytorch/pytorch/issues/81291 https://github.com/pytorch/pytorch/issues/130102
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import GROUP_CREATION_MISMATCH
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.digest.waits import Wait
from ddpdoctor.diagnose.divergence import decisions, group_names, relative_position
from ddpdoctor.diagnose.divergence.causes import CREATING, Cause, divergences_of
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.group_names import Misnamed
from ddpdoctor.diagnose.divergence.library_paths import fork
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    if misnamed := group_names.misnamed(facts):
        yield _of_one_name(facts, misnamed)
        return
    for divergence in divergences_of(facts, Cause.GROUP_CREATION):
        if divergence.odd_site:
            yield _diagnosis(facts, divergence, divergence.odd_site)
            return
    waits = [facts.wait(Rank(number)) for number in range(facts.evidence.world_size)]
    if facts.outcome is Outcome.HANG and all(wait is not None and wait.op in CREATING for wait in waits):
        yield from _at_several_places(facts, waits) or _made_more(facts)


def _of_one_name(facts: Facts, found: Misnamed) -> Diagnosis:
    """Ranks have made groups of other members as what torch counts as the same one."""
    sides = sorted(found.sides.items(), key=lambda side: (-len(side[1]), side[1].members))
    one, other = (f"{wording.ranks(members)} on {wording.ranks(ranks)}" for members, ranks in sides[:2])
    return diagnosis(
        GROUP_CREATION_MISMATCH,
        facts.waiting,
        # that they are not alike is seen; a rank may fail or stand still for a reason of its own all the same
        confidence=Confidence.LIKELY,
        blame=Confidence.POSSIBLE,
        summary=f"group {found.name} has {one}, and {other}: not all ranks have created the same",
        why=(
            "Every rank of the job must create every group, members or not, in one order: torch names groups by how "
            "many there were before. Groups of one name with other members look for each other in the same place of "
            "the store, so that ranks connect to others than their own, wait for them, or lose them."
        ),
        fix=(
            "Call new_group on every rank for every group, with the same ranks in the same order, and keep the one "
            "that the rank is in; or pass use_local_synchronization=True."
        ),
        locations=(
            *(facts.location(ranks, site) for site, ranks in found.made),
            *facts.locations_of(facts.waiting),
        ),
        evidence=tuple(
            f"group {found.name} has {wording.ranks(members)} on {wording.ranks(ranks)}" for members, ranks in sides[:8]
        ),
    )


def _made_more(facts: Facts) -> Iterator[Diagnosis]:
    """Every rank is in the creation of a group, and has called for another number of them. It tells who called from
    where the others did not, and counts only histories of which nothing was overwritten."""
    made = {
        rank: [step for step in history.steps if step.op in CREATING]
        for rank, history in facts.histories.items()
        if not history.truncated
    }
    by_number: dict[int, list[Rank]] = {}
    for rank, steps in made.items():
        by_number.setdefault(len(steps), []).append(rank)
    if len(made) < facts.evidence.world_size or len(by_number) != 2:
        return
    (number, odd), (usual, others) = sorted(by_number.items(), key=lambda pair: len(pair[1]))
    tie = len(odd) == len(others)
    pairs = zip(made[odd[0]], made[others[0]], strict=False)
    parted = next((site for mine, theirs in pairs if mine.path != theirs.path and (site := fork(mine, theirs))), None)
    longer = made[odd[0] if number > usual else others[0]]
    shown = parted or longer[-1].site
    if shown is None:
        return
    ranks, rest = RankSet.of(odd), RankSet.of(others)
    yield diagnosis(
        GROUP_CREATION_MISMATCH,
        facts.waiting,
        confidence=Confidence.LIKELY,
        blame=Confidence.POSSIBLE if tie else Confidence.LIKELY,
        culprits=RankSet() if tie else ranks,
        summary=f"{wording.ranks(ranks)} called for {number} groups, {wording.ranks(rest)} for {usual}",
        why=(
            "Every rank of the job must create every group, members or not, in one order. After a group that only some "
            "ranks create, what each of them creates next does not belong together, and all wait."
        ),
        fix=(
            "Create all groups on every rank in the same order, before they are used; or pass "
            "use_local_synchronization=True."
        ),
        locations=(facts.location(ranks, shown), *facts.locations_of((*ranks, *rest))),
        evidence=tuple(f"rank {rank} has called for {len(steps)} groups" for rank, steps in sorted(made.items())[:8]),
    )


def _at_several_places(facts: Facts, waits: Sequence[Wait | None]) -> list[Diagnosis]:
    """Every rank is in the creation of a group, and not all at one place."""
    places = {facts.state(wait.rank).site for wait in waits if wait is not None}
    if None in places or len(places) < 2:
        return []
    asked = [(site, span) for site in places if site and (span := enclosing.if_around(facts.program, site))]
    first = min(asked, key=lambda pair: (pair[0].file, pair[0].line), default=None)
    shown = (facts.location(facts.waiting, first[0]),) if first else ()
    found = diagnosis(
        GROUP_CREATION_MISMATCH,
        facts.waiting,
        confidence=Confidence.LIKELY,
        blame=Confidence.POSSIBLE,
        summary=(
            "all ranks are creating groups, but not the same: "
            + ", ".join(
                f"rank {wait.rank} at {wording.place(facts.state(wait.rank).site)}" for wait in waits[:4] if wait
            )
        ),
        why=(
            "Creating a group needs every rank of the job, members or not, and the groups must be created in the same "
            "order. Here ranks wait for others that are creating a different group."
        ),
        fix=(
            (f"Move the call out of `{first[1].text}` ({wording.place(_head(*first))}): every" if first else "Every")
            + " rank calls new_group for every group, and keeps the result where it is a member; or pass "
            "use_local_synchronization=True."
        ),
        locations=(*shown, *facts.locations_of(facts.waiting)),
        evidence=tuple(f"rank {wait.rank} waits in {wait.op}" for wait in waits if wait),
    )
    return [found]


def _head(site: Site, span: enclosing.Span) -> Site:
    return replace(site, line=span.first)


def _diagnosis(facts: Facts, divergence: Divergence, called: Site) -> Diagnosis:
    site = relative_position.users_line(facts, divergence.odd, called)
    confidence = weaker(Confidence.LIKELY, divergence.cap)
    made, missed = wording.ranks(divergence.odd), wording.ranks(divergence.reference)
    return diagnosis(
        GROUP_CREATION_MISMATCH,
        facts.waiting,
        confidence=confidence,
        blame=Confidence.POSSIBLE if divergence.tie else confidence,
        culprits=divergence.culprits,
        summary=(
            f"{missed} did not call {divergence.odd_next.op if divergence.odd_next else 'new_group'} at "
            f"{wording.place(site)}, {made} did"
        ),
        why=(
            f"Every rank of the job must create every group, members or not, in one order. {made.capitalize()} "
            f"{wording.verb(divergence.odd, 'has', 'have')} created one more than {missed}; what is created next does "
            f"not belong together: {made} {wording.inside(facts, divergence.odd)}, {missed} "
            f"{wording.inside(facts, divergence.reference)}."
        ),
        fix=(
            f"Call new_group at {wording.place(site)} on every rank, and keep the result on the members; or pass "
            "use_local_synchronization=True."
        ),
        locations=(
            facts.location(divergence.odd, site),
            *facts.locations_of((*divergence.odd, *divergence.reference)),
        ),
        evidence=(
            wording.parted(divergence.odd_next, divergence.reference_next),
            *decisions.parted_by(facts, divergence),
        ),
    )
