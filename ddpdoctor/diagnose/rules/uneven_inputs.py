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
a generator leaves no such record; then the diagnosis is DD299.

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
from ddpdoctor.diagnose.divergence import loader_errors, patterns
from ddpdoctor.diagnose.divergence.branch_points import BranchKind
from ddpdoctor.diagnose.divergence.patterns import Divergence, Pattern
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
    for divergence in patterns.divergences(facts):
        if loader_errors.loader_raised(facts, divergence):
            continue  # the batches were there: one was lost in an exception
        if divergence.pattern is Pattern.ENDED_EARLY and divergence.odd_next and divergence.odd_next.site:
            diagnosis = _diagnosis(facts, divergence, divergence.odd_next.site)
            if diagnosis:
                yield diagnosis
        elif divergence.pattern is Pattern.LEFT_LOOP and _only_ended(divergence):
            yield _fewer_rounds(facts, divergence)


def _only_ended(divergence: Divergence) -> bool:
    """The source knows one way out, that the loop ended, and no round that would leave no trace."""
    loops = [point for point in divergence.branch_points if point.kind in (BranchKind.DATA, BranchKind.COUNT)]
    return len(divergence.branch_points) == len(loops) == 1 and not loops[0].idle


def _fewer_rounds(facts: Facts, divergence: Divergence) -> Diagnosis:
    """The end of a generator or a counted loop leaves no trace of its own; the source shows it."""
    short, long = divergence.odd, divergence.reference
    loop = divergence.branch_points[0].site
    confidence = weaker(Confidence.LIKELY, divergence.cap)
    return diagnosis(
        UNEVEN_INPUTS,
        facts.waiting,
        confidence=confidence,
        blame=divergence.blame(confidence),
        culprits=divergence.culprits,
        summary=(
            f"the loop at {wording.place(loop)} ended on {wording.ranks(short)} where {wording.ranks(long)} went on to "
            f"{wording.step(divergence.reference_next)}"
        ),
        why=(
            f"{_went_on(divergence)} {wording.ranks(short).capitalize()} had no round left and went on behind the "
            f"loop: {_where(facts, short)}."
        ),
        fix=_fix(divergence),
        locations=(facts.location(divergence.culprits, loop), *facts.locations_of((*short, *long))),
        evidence=(
            *patterns.parted_by(facts, divergence),
            "the source shows no other way out of the loop, and none past its steps",
        ),
    )


def _diagnosis(facts: Facts, divergence: Divergence, loop: Site) -> Diagnosis | None:
    short, long = divergence.odd, divergence.reference
    counts = {rank: _count(facts, rank, loop) for rank in (*short, *long)}
    agree = _counters_agree(counts, short, long) or _ends_in_earlier_epoch(facts, loop, short, long)
    if not agree and all(counts.values()) and not _draws_several(divergence, loop):
        return None  # as many batches everywhere: something else parted them
    confidence = weaker(Confidence.CERTAIN if agree and divergence.unique else Confidence.LIKELY, divergence.cap)
    return diagnosis(
        UNEVEN_INPUTS,
        facts.waiting,
        confidence=confidence,
        blame=divergence.blame(confidence),
        culprits=divergence.culprits,
        summary=_summary(counts, short, long, loop),
        why=(
            f"{_went_on(divergence)} {wording.ranks(short).capitalize()} had no batch left and went on behind the "
            f"loop: {_where(facts, short)}. {_so(facts)}"
        ),
        fix=_fix(divergence),
        locations=(facts.location(short, loop), *facts.locations_of((*short, *long))),
        evidence=tuple(_evidence(facts, counts, loop)),
    )


def _meeting(divergence: Divergence) -> HistoryStep | None:
    """The call in the loop that the longer side waits in; None where it is the gradients'."""
    step = divergence.collectives()[1]
    return step if step and step.kind is EventKind.CALL else None


def _went_on(divergence: Divergence) -> str:
    step = _meeting(divergence)
    what = f"went on to {wording.step(step)}, which needs" if step else "started another step, whose gradients need"
    return f"{wording.ranks(divergence.reference).capitalize()} {what} every rank."


def _fix(divergence: Divergence) -> str:
    if _meeting(divergence) is None:
        return _FIX
    return (
        "Give every rank the same number of batches: pad the shards, as DistributedSampler does, and cut the result to "
        "the data's length; or collect what each rank has and communicate once, behind the loop."
    )


def _draws_several(divergence: Divergence, loop: Site) -> bool:
    """A round takes more than one batch (`zip`), so that the rank that ran out was given as many as the others."""
    before = divergence.diff.before
    return before is not None and before.kind is EventKind.NEXT and before.site == loop


def _count(facts: Facts, rank: Rank, loop: Site) -> LoaderCount | None:
    counters = facts.counters(rank)
    return next((c for c in counters.loaders if c.site == loop), None) if counters else None


def _counters_agree(counts: dict[Rank, LoaderCount | None], short: RankSet, long: RankSet) -> bool:
    """The counters, which lose nothing, tell the same on every rank of either side: fewer delivered, and an end.

    Loaders that look one batch ahead have seen the end on the other side too.
    """
    few = [c for r in short if (c := counts[r])]
    many = [c for r in long if (c := counts[r])]
    if len(few) != len(short) or len(many) != len(long):
        return False
    return max(c.delivered for c in few) < min(c.delivered for c in many) and (
        min(c.stops for c in few) >= max(1, *(c.stops for c in many))
    )


def _ends_in_earlier_epoch(facts: Facts, loop: Site, short: RankSet, long: RankSet) -> bool:
    """The short side is in a later epoch already: it got fewer batches in the first that is not the same for all."""
    few, many = ([_epochs(facts, rank, loop) for rank in side] for side in (short, long))
    if not all(few) or not all(many):
        return False
    first = min(len(epochs or ()) for epochs in (*few, *many)) - 1
    ended, longest = [e[first] for e in few if e], [e[first] for e in many if e]
    before = {tuple(epochs[:first]) for epochs in (*few, *many) if epochs}
    return len(before) == 1 and max(ended) < min(longest) and all(len(e or ()) > first + 1 for e in few)


def _epochs(facts: Facts, rank: Rank, loop: Site) -> list[int] | None:
    """Batches of each epoch, the unfinished last one included; None where the history has lost some."""
    history = facts.histories.get(rank)
    if history is None or history.truncated:
        return None
    found = [0]
    for step in history.steps:
        if step.site == loop and step.kind is EventKind.NEXT:
            found[-1] += 1
        elif step.site == loop and step.kind is EventKind.STOP_ITERATION:
            found.append(0)
    return found


def _summary(counts: dict[Rank, LoaderCount | None], short: RankSet, long: RankSet, loop: Site) -> str:
    few = sorted({c.delivered for r in short if (c := counts[r])})
    many = sorted({c.delivered for r in long if (c := counts[r])})
    verb = wording.verb(short, "runs", "run")
    head = f"{wording.ranks(short)} {verb} out of data at {wording.place(loop)}"
    if not few or not many or few[0] >= many[0]:
        return f"{head} where {wording.ranks(long)} got another batch"
    return f"{head} after {wording.batches(few[0])} where {wording.ranks(long)} got {many[0]}"


def _so(facts: Facts) -> str:
    if facts.outcome is Outcome.CRASH:
        return "What the two issued does not fit together."
    return "Neither side can finish."


def _where(facts: Facts, short: RankSet) -> str:
    if facts.waiting.members and any(rank in facts.waiting for rank in short):
        return f"into {wording.waiting(facts, short)}"
    return facts.state(short.members[0]).label


def _evidence(facts: Facts, counts: dict[Rank, LoaderCount | None], loop: Site) -> Iterator[str]:
    yield f"the histories part at {wording.place(loop)}: StopIteration against another batch"
    alike: dict[tuple[int, int], list[Rank]] = {}
    for rank, count in sorted(counts.items()):
        if count:
            alike.setdefault((count.delivered, count.stops), []).append(rank)
    for (delivered, stops), ranks in sorted(alike.items()):
        yield f"{wording.ranks(RankSet.of(ranks))}: {wording.batches(delivered)} delivered, {stops} StopIteration"
    for rank in sorted(counts):
        counters = facts.counters(rank)
        if counters:
            yield f"rank {rank}: {counters.forwards} forwards, {counters.backward_entered} backwards entered"
