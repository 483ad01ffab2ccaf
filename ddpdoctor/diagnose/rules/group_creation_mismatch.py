"""# DD219 group-creation-mismatch

## What
Only some ranks called `new_group`, most often only the members of the new group.

## Why it hangs
Creating a group is a collective of all ranks, including those that will not be members, and groups are identified by
how many were created before. A group that only some ranks create goes unnoticed; the next group is then a different one
on each side.

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

from collections.abc import Iterator
from dataclasses import replace

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import GROUP_CREATION_MISMATCH
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import decisions, relative_position
from ddpdoctor.diagnose.divergence.causes import CREATING, Cause, divergences_of
from ddpdoctor.diagnose.divergence.patterns import Divergence
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for divergence in divergences_of(facts, Cause.GROUP_CREATION):
        if divergence.odd_site:
            yield _diagnosis(facts, divergence, divergence.odd_site)
            return
    if facts.outcome is Outcome.HANG:
        yield from _all_inside(facts)


def _all_inside(facts: Facts) -> Iterator[Diagnosis]:
    """Every rank is in the creation of a group, and not all at one place."""
    waits = [facts.wait(Rank(number)) for number in range(facts.evidence.world_size)]
    places = {facts.state(wait.rank).site for wait in waits if wait is not None}
    if not all(wait is not None and wait.op in CREATING for wait in waits) or None in places or len(places) < 2:
        return
    asked = [(site, span) for site in places if site and (span := enclosing.if_around(facts.program, site))]
    first = min(asked, key=lambda pair: (pair[0].file, pair[0].line), default=None)
    shown = (facts.location(facts.waiting, first[0]),) if first else ()
    yield diagnosis(
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
