"""# DD202 uneven-microbatches

## What
A batch is split into micro-batches depending on the rank's own data, and one rank has more of them.

## Why it hangs
Each micro-batch runs a forward and a backward, and these communicate. The rank with more micro-batches begins another
one while the others are already in the optimizer step or after it.

## Example
    for tokens in pack(batch, budget=4096):      # 2 packs here, 3 there
        model(tokens).sum().backward()
    optimizer.step()

## Fix
Agree on the number (all_reduce(MAX)), and fill up with micro-batches whose loss is multiplied by zero.

## When it is wrong
The data loaders must have delivered equally many batches on both sides, otherwise it is DD201. A break out of the inner
loop by a condition is DD206. Only the source shows which of the two it was, so this is at most `likely`.

## References
https://github.com/verl-project/verl/issues/6176 https://github.com/modelscope/ms-swift/issues/8102
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import UNEVEN_MICROBATCHES
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import patterns
from ddpdoctor.diagnose.divergence.branch_points import BranchKind
from ddpdoctor.diagnose.divergence.patterns import Divergence, Pattern
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import RankSet

_FORWARDS = frozenset({EventKind.FORWARD, EventKind.FORWARD_NO_SYNC})
_ROUND = frozenset({EventKind.NEXT, EventKind.OPTIMIZER_STEP})


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for divergence in patterns.divergences(facts):
        found = _more(facts, divergence) if divergence.pattern in (Pattern.UNCLEAR, Pattern.LEFT_LOOP) else None
        if found:
            yield _diagnosis(facts, divergence, *found)


def _more(facts: Facts, divergence: Divergence) -> tuple[HistoryStep, RankSet, RankSet] | None:
    """The forward that one side began again where the other updated its weights, and both sides."""
    before = divergence.diff.before
    if before is None or before.kind is not EventKind.BACKWARD:
        return None
    if any(point.kind is BranchKind.CONDITION for point in divergence.branch_points):
        return None
    sides = ((divergence.odd_next, divergence.reference_next), (divergence.reference_next, divergence.odd_next))
    for (more, less), ranks in zip(sides, (divergence.odd, divergence.reference), strict=True):
        rest = divergence.reference if ranks == divergence.odd else divergence.odd
        updates = less is not None and less.kind is EventKind.OPTIMIZER_STEP
        if more is None or more.kind not in _FORWARDS or not updates:
            continue
        if _again(facts, more, ranks) and _as_many_batches(facts, divergence):
            return more, ranks, rest
    return None


def _again(facts: Facts, forward: HistoryStep, ranks: RankSet) -> bool:
    """The same forward ran before in this step: neither a batch was fetched nor weights updated since."""
    history = facts.histories.get(ranks.members[0])
    steps = history.steps if history else ()
    last = next((n for n in reversed(range(len(steps))) if steps[n] == forward), None)
    if last is None:
        return False
    earlier = next((n for n in reversed(range(last)) if steps[n].kind in (*_ROUND, *_FORWARDS)), None)
    return earlier is not None and steps[earlier].kind in _FORWARDS and steps[earlier].site == forward.site


def _as_many_batches(facts: Facts, divergence: Divergence) -> bool:
    counters = [facts.counters(rank) for rank in (*divergence.odd, *divergence.reference)]
    return all(counters) and len({c.delivered for c in counters if c}) == 1


def _diagnosis(facts: Facts, divergence: Divergence, forward: HistoryStep, more: RankSet, less: RankSet) -> Diagnosis:
    confidence = weaker(Confidence.LIKELY, divergence.cap)
    culprits = RankSet() if divergence.tie else min(more, less, key=len)
    ours, theirs = wording.ranks(more), wording.ranks(less)
    first = (facts.location(culprits or more, forward.site),) if forward.site else ()
    return diagnosis(
        UNEVEN_MICROBATCHES,
        facts.waiting,
        confidence=confidence,
        blame=Confidence.POSSIBLE if divergence.tie else confidence,
        culprits=culprits,
        summary=(
            f"{ours} began another micro-batch at {wording.place(forward.site)} where {theirs} "
            f"{wording.verb(less, 'was', 'were')} done with the step"
        ),
        why=(
            f"All ranks fetched as many batches, but cut the last into different numbers of micro-batches. "
            f"{ours.capitalize()} {wording.inside(facts, more)}, {theirs} "
            f"{wording.verb(less, 'is', 'are')} already in {wording.waiting(facts, less)}."
        ),
        fix=(
            "Agree on the number of micro-batches with an all_reduce(MAX), and fill up with ones whose loss counts "
            "zero."
        ),
        locations=(*first, *facts.locations_of((*more, *less))),
        evidence=(
            wording.parted(divergence.odd_next, divergence.reference_next),
            *(
                f"rank {rank}: {wording.batches(c.delivered)}, {c.forwards + c.forwards_no_sync} forwards"
                for rank in (*more, *less)
                if (c := facts.counters(rank))
            ),
        ),
    )
