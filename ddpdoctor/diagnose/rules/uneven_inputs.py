"""# DD201 uneven-inputs

## What
One rank's data iterator ended earlier than the others': it delivered fewer batches in this epoch.

## Why it hangs
The ranks that have another batch start another step. Its gradient all-reduce needs every rank, but the rank without
data has continued after its loop and waits there in another collective, or has exited. Neither wait can end.

## Example
    part = records[rank * per_rank : (rank + 1) * per_rank]      # the last rank's part is shorter
    for batch in DataLoader(part, batch_size=4, drop_last=True):
        model(batch).sum().backward()
    dist.barrier()

## Fix
Give every rank the same number of batches: use `DistributedSampler(..., drop_last=True)`, filter before the data are
split and not after, or use `itertools.islice` up to the minimum over the ranks (one all_reduce(MIN) before the epoch).
If that is not possible, wrap the loop in `torch.distributed.algorithms.join.Join`, which covers only DDP's own
collectives.

## When it is wrong
It is never a guess: it requires the rank's own StopIteration where the other ranks received another batch. A loop over
a generator leaves no such record. There it is `likely` if the end of the loop is its only exit in the source and either
no turn can pass without a trace, or the loop's counter shows that the rank took exactly one turn fewer than the others
have begun; otherwise the diagnosis is DD299. Of a framework's loop it is `possible`: the others are amid their data,
the rank is behind the loop, and the job sets no flag that ends it.

## References
https://github.com/pytorch/pytorch/issues/33148 https://github.com/pytorch/pytorch/issues/38174
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import UNEVEN_INPUTS
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import batch_counts, decisions, relative_position
from ddpdoctor.diagnose.divergence.branch_points import BranchPoint
from ddpdoctor.diagnose.divergence.causes import Cause, divergences_of
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.patterns import Pattern
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.progress import EventKind, LoaderCount
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site

_FIX = (
    "Give every rank the same number of batches: filter before the data are split and use "
    "DistributedSampler(drop_last=True); with an IterableDataset, all_reduce each step whether any rank has run out, "
    "and stop together."
)


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for divergence in divergences_of(facts, Cause.UNEVEN_INPUTS):
        if divergence.pattern is Pattern.ENDED_EARLY and divergence.odd_site:
            yield _fewer_batches(facts, divergence, divergence.odd_site)
        else:
            yield _fewer_rounds(facts, divergence)


def _fewer_rounds(facts: Facts, divergence: Divergence) -> Diagnosis:
    """The end of a generator or a counted loop is not recorded; the source shows it."""
    short, long = divergence.odd, divergence.reference
    point = divergence.branch_points[0]
    # of a framework's loop the source does not show that nothing else ends it
    confidence = weaker(Confidence.POSSIBLE if point.shown else Confidence.LIKELY, divergence.cap)
    loop = wording.place(point.site) + (f", which {wording.place(point.shown)} runs," if point.shown else "")
    return diagnosis(
        UNEVEN_INPUTS,
        facts.waiting,
        confidence=confidence,
        blame=divergence.blame(confidence),
        culprits=divergence.culprits,
        summary=(
            f"the loop at {loop} ended on {wording.ranks(short)} where "
            f"{wording.ranks(relative_position.those_that_did(facts, divergence.reference_next, long))} went on to "
            f"{wording.step(divergence.reference_next)}"
        ),
        why=(
            f"{_went_on(facts, divergence)} {wording.ranks(short).capitalize()} had no iteration left and continued "
            f"after the loop: {_where(facts, short)}."
        ),
        fix=_fix(divergence),
        locations=(
            facts.location(divergence.culprits, point.shown or point.site),
            *facts.locations_of((*short, *long)),
        ),
        evidence=(
            *decisions.parted_by(facts, divergence),
            _only_way(divergence, point),
        ),
    )


def _only_way(divergence: Divergence, point: BranchPoint) -> str:
    """What excludes that something else than the end of the loop led out of it."""
    if point.shown:
        return "the job sets no flag that ends the loop"
    if divergence.turns is not None:
        return "the source shows no other exit from the loop between two turns"
    return "the source shows no other exit from the loop, and no path past its steps"


def _fewer_batches(facts: Facts, divergence: Divergence, loop: Site) -> Diagnosis:
    short, long = divergence.odd, divergence.reference
    counts, agree = batch_counts.counts(facts, divergence), batch_counts.ended_before(facts, divergence)
    confidence = weaker(Confidence.CERTAIN if agree and divergence.unique else Confidence.LIKELY, divergence.cap)
    return diagnosis(
        UNEVEN_INPUTS,
        facts.waiting,
        confidence=confidence,
        blame=divergence.blame(confidence),
        culprits=divergence.culprits,
        summary=_summary(counts, short, long, loop),
        why=(
            f"{_went_on(facts, divergence)} {wording.ranks(short).capitalize()} had no batch left and continued after "
            f"the loop: {_where(facts, short)}. {_so(facts)}"
        ),
        fix=_fix(divergence),
        locations=(facts.location(short, loop), *facts.locations_of((*short, *long))),
        evidence=tuple(_evidence(facts, counts, loop)),
    )


def _meeting(divergence: Divergence) -> HistoryStep | None:
    """The call in the loop in which the longer side waits; None if it is the gradient reduction."""
    step = divergence.collectives()[1]
    return step if step and step.kind is EventKind.CALL else None


def _went_on(facts: Facts, divergence: Divergence) -> str:
    step = _meeting(divergence)
    what = f"went on to {wording.step(step)}, which needs" if step else "started another step, whose gradients need"
    who = relative_position.those_that_did(facts, step, divergence.reference)
    return f"{wording.ranks(who).capitalize()} {what} every rank."


def _fix(divergence: Divergence) -> str:
    if _meeting(divergence) is None:
        return _FIX
    return (
        "Give every rank the same number of batches: pad the shards, as DistributedSampler does, and truncate the "
        "result to the data's length; or collect the data of each rank and communicate once, after the loop."
    )


def _summary(counts: dict[Rank, LoaderCount | None], short: RankSet, long: RankSet, loop: Site) -> str:
    few = {c.delivered for r in short if (c := counts[r])}
    many = {c.delivered for r in long if (c := counts[r])}
    verb = wording.verb(short, "runs", "run")
    head = f"{wording.ranks(short)} {verb} out of data at {wording.place(loop)}"
    # a framework may have fetched a batch ahead on one rank of a side, and not yet on another
    if len(few) != 1 or len(many) != 1 or max(few) >= min(many):
        return f"{head} where {wording.ranks(long)} got another batch"
    return f"{head} after {wording.batches(*few)} where {wording.ranks(long)} got {min(many)}"


def _so(facts: Facts) -> str:
    if facts.outcome is Outcome.CRASH:
        return "The operations that the two sides issued do not match."
    return "Neither side can finish."


def _where(facts: Facts, short: RankSet) -> str:
    if facts.waiting.members and any(rank in facts.waiting for rank in short):
        return f"into {wording.waiting(facts, short)}"
    return wording.standing(facts, short)


def _evidence(facts: Facts, counts: dict[Rank, LoaderCount | None], loop: Site) -> Iterator[str]:
    yield f"the histories diverge at {wording.place(loop)}: StopIteration against another batch"
    alike: dict[tuple[int, int], list[Rank]] = {}
    for rank, count in sorted(counts.items()):
        if count:
            alike.setdefault((count.delivered, count.stops), []).append(rank)
    for (delivered, stops), ranks in sorted(alike.items()):
        yield f"{wording.ranks(RankSet.of(ranks))}: {wording.batches(delivered)} delivered, {stops} StopIteration"
    yield from _lengths(counts)
    for rank in sorted(counts):
        counters = facts.counters(rank)
        if counters:
            yield f"rank {rank}: {counters.forwards} forwards, {counters.backward_entered} backwards entered"


def _lengths(counts: dict[Rank, LoaderCount | None]) -> Iterator[str]:
    """How long the loaders said they were, if that differs: it did so before the first batch."""
    alike: dict[int, list[Rank]] = {}
    for rank, count in sorted(counts.items()):
        if count and count.length is not None:
            alike.setdefault(count.length, []).append(rank)
    for length, ranks in sorted(alike.items()) if len(alike) > 1 else ():
        yield f"{wording.ranks(RankSet.of(ranks))}: a loader of {wording.batches(length)}, as its length says"
