"""# DD212 barrier-off-by-one

## What
One rank runs one barrier more or fewer than the others, so its next barrier, elsewhere, is paired with the missing one.

## Why it hangs
Barriers have no name; they are paired by order. A skipped barrier is therefore not noticed where it is skipped. All
later barriers are off by one, and the hang appears at another line, often on a rank that did nothing wrong.

## Example
    if not cache.exists():
        build(cache)
        dist.barrier()         # not on the rank that has its file already
    dist.barrier()             # that rank's pairs with the one above

## Fix
Move the barrier out of the condition, so that every rank reaches each barrier.

## When it is wrong
The diagnosis rests on the order of calls at each call site, so it is at most `likely`. A barrier that only one rank
calls under a condition on its rank is DD203.

## References
https://github.com/pytorch/pytorch/issues/138322 https://github.com/lucidrains/audiolm-pytorch/issues/210
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import BARRIER_OFF_BY_ONE
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import barrier_pairing, relative_position
from ddpdoctor.diagnose.divergence.causes import Cause, divergences_of
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for told in divergences_of(facts, Cause.BARRIER):
        found = barrier_pairing.helper_barrier(facts, told) or barrier_pairing.extra_barrier(facts, told)
        divergence = found or told
        if divergence.odd_site:
            yield _diagnosis(facts, divergence, divergence.odd_site)


def _diagnosis(facts: Facts, divergence: Divergence, called: Site) -> Diagnosis:
    site = relative_position.users_line(facts, divergence.odd, called)
    confidence = weaker(Confidence.LIKELY, divergence.cap)
    paired = barrier_pairing.counterpart(facts, divergence)
    came, passed = wording.ranks(divergence.odd), wording.ranks(divergence.reference)
    culprits = RankSet() if divergence.tie else divergence.culprits
    return diagnosis(
        BARRIER_OFF_BY_ONE,
        facts.waiting,
        confidence=confidence,
        blame=Confidence.POSSIBLE if divergence.tie else confidence,
        culprits=culprits,
        summary=(
            f"{passed} did not reach the barrier at {wording.place(site)}; "
            f"{wording.verb(divergence.reference, 'its', 'their')} next barrier was paired with it"
        ),
        why=(
            f"Barriers are paired by order alone. {came.capitalize()} reached the one at {wording.place(site)}, "
            f"{passed} only to {wording.step(paired)}: both returned, and since then the ranks are off by one. "
            f"{came.capitalize()} {wording.inside(facts, divergence.odd)}, {passed} "
            f"{wording.inside(facts, divergence.reference)}."
        ),
        fix=f"Let every rank reach the barrier at {wording.place(site)}: move it out of the condition.",
        locations=(
            facts.location(culprits or divergence.odd, site),
            *facts.locations_of((*divergence.odd, *divergence.reference)),
        ),
        evidence=tuple(_counts(facts, site, (*divergence.odd, *divergence.reference))),
    )


def _counts(facts: Facts, site: Site, ranks: tuple[Rank, ...]) -> Iterator[str]:
    """How often each rank reached the barrier."""
    for rank in sorted(ranks):
        history = facts.histories.get(rank)
        steps = history.steps if history else ()
        calls = [s for s in steps if s.kind is EventKind.CALL and site in (s.site, *s.path)]
        more = " or more" if history and history.truncated else ""
        times = f"{len(calls)} time{'' if len(calls) == 1 else 's'}{more}"
        yield f"rank {rank} called the barrier at {wording.place(site)} {times}"
