"""# DD207 skipped-batch

## What
One rank skipped a batch that the others trained on: a `continue` after a NaN loss, an empty or broken sample.

## Why it hangs
The rank issued one gradient all-reduce fewer. From then on its collectives are silently paired with earlier ones of the
other ranks, until the last step of the epoch leaves the others without a partner.

## Example
    loss = model(batch).sum()
    if not torch.isfinite(loss):
        continue                             # this rank, this batch only
    loss.backward()

## Fix
Never skip on one rank: multiply the bad loss by zero so that the same graph runs (`loss = torch.nan_to_num(loss) * 0`),
or agree on the skip with an all_reduce(MAX) of a flag and skip on every rank.

A batch that one rank takes for something else, by `next()` on the iterator that the loop goes over, is skipped as well:
take one from an iterator of its own, or use the batch that the loop has.

## When it is wrong
A stage of a pipeline is compared with its own earlier rounds, which is `likely` at most. A caught exception (DD208)
also skips a batch. If the source shows both a condition and a `try` that lead past the step, this is not reported
(DD299 gives both explanations); with several conditions it is only `likely`. So it is in a loop without a DataLoader,
where the loop's counter shows that the rank took the turn in which the others are, or the source that all ranks take
equally many: neither shows what it did in its turns.

## References
https://github.com/Lightning-AI/pytorch-lightning/issues/5243 https://github.com/NVIDIA-NeMo/Automodel/issues/2468
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import SKIPPED_BATCH
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import control_flow_diff, decisions
from ddpdoctor.diagnose.divergence.branch_points import BranchKind
from ddpdoctor.diagnose.divergence.causes import Cause, divergences_of
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.habits import Strayed, strayed_alone
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.collectives import Kind
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for divergence in divergences_of(facts, Cause.SKIPPED_BATCH):
        if divergence.reference_next:
            yield _diagnosis(facts, divergence, divergence.reference_next)
    left = strayed_alone(facts, facts.waiting) if not facts.splits else None
    wait = facts.wait(left[0]) if left else None
    if left and left[1].skipped and wait and wait.kind in (Kind.SEND, Kind.RECV):
        yield from _without_collectives(facts, *left)


def _without_collectives(facts: Facts, rank: Rank, found: Strayed) -> Iterator[Diagnosis]:
    """A stage of a pipeline that left out a forward or backward, and the messages that belong to it."""
    points = control_flow_diff.against_itself(facts, rank, found.before, found.now, found.usual)
    if any(point.kind is not BranchKind.CONDITION for point in points):
        return
    jumps = tuple(point for point in points if point.jump is not None)
    if found.again and not jumps:
        return  # a turn more of a loop that exchanges messages looks the same
    culprit = RankSet.of([rank])
    place = f": it went past it at {wording.place(points[0].place)}" if len(points) == 1 else ""
    yield diagnosis(
        SKIPPED_BATCH,
        facts.waiting,
        confidence=Confidence.LIKELY,
        culprits=culprit,
        summary=f"rank {rank} skipped {wording.step(found.usual)} in its last round{place}",
        why=(
            f"Rank {rank} went on to {wording.step(found.now)} without the messages that follow the skipped work, and "
            f"the other ranks wait for those. It {wording.now(facts, culprit)}."
        ),
        fix=(
            "Do not skip on one rank: multiply the bad loss by zero and run backward anyway, or send what the others "
            "wait for in any case."
        ),
        locations=(
            *(facts.location(culprit, point.place) for point in points),
            *facts.locations_of((rank, *(facts.waiting - culprit))),
        ),
        # of a condition that led past it only this rank's own rounds are known, not what it was on others
        evidence=tuple(control_flow_diff.sentences(jumps, culprit, facts.waiting - culprit)),
    )


def _diagnosis(facts: Facts, divergence: Divergence, skipped: HistoryStep) -> Diagnosis:
    decided = [point for point in divergence.branch_points if point.kind is BranchKind.CONDITION]
    jump = divergence.place(decided[0]) if len(decided) == 1 else None
    elsewhere = _taken_elsewhere(facts, divergence)
    # one of several models may be meant to pause, so that what is wrong is the decision (DD206)
    another = divergence.odd_next is not None and divergence.odd_next.kind is EventKind.BACKWARD
    sure = (
        not another
        and elsewhere is None
        and _counters_agree(facts, divergence, skipped)
        and divergence.unique
        and jump is not None
        and len(divergence.branch_points) == 1
    )
    confidence = weaker(Confidence.CERTAIN if sure else Confidence.LIKELY, divergence.cap)
    odd, reference = wording.ranks(divergence.odd), wording.ranks(divergence.reference)
    site = elsewhere or jump or (divergence.diff.before.site if divergence.diff.before else None) or skipped.site
    locations = (facts.location(divergence.culprits, site),) if site else ()
    return diagnosis(
        SKIPPED_BATCH,
        facts.waiting,
        confidence=confidence,
        blame=divergence.blame(confidence),
        culprits=divergence.culprits,
        summary=(
            f"{odd} took a batch at {wording.place(elsewhere)}, where {reference} took none, and did not train on it"
            if elsewhere
            else f"{odd} skipped {_work(skipped)} of a batch"
            f"{f' at {wording.place(site)}' if site else ''} that {reference} {_worked(skipped)}"
        ),
        why=(
            f"{odd.capitalize()} issued one {_operation(skipped)} fewer than {reference}, so "
            f"{_effect(divergence)}: {reference} "
            f"{wording.now(facts, divergence.reference)}, {odd} {wording.now(facts, divergence.odd)}."
        ),
        fix=_OF_ANOTHER if elsewhere else _fix(skipped),
        locations=(*locations, *facts.locations_of((*divergence.reference, *divergence.odd))),
        evidence=tuple(_evidence(facts, divergence, skipped)),
    )


#: how to look at a batch beside the loop
_OF_ANOTHER = (
    "Do not take batches from the iterator that the training loop goes over: use the batch that the loop has, or make "
    "an iterator of its own for it."
)


def _taken_elsewhere(facts: Facts, divergence: Divergence) -> Site | None:
    """Where the odd ranks took their last batch before the difference, if the others never take one of this loader
    there: by `next()`, on the iterator of the loop."""
    own, other = map(facts.histories.get, divergence.compared.pair)
    before = divergence.diff.before
    if own is None or other is None or before is None or before.kind is not EventKind.NEXT:
        return None
    steps = own.steps[: len(own.steps) - len(divergence.diff.left)]
    last = next((step for step in reversed(steps) if step == before), None)
    usual = {step.path[:1] for step in other.steps if step == before}
    if last is None or not last.path or not usual or last.path[:1] in usual:
        return None
    return last.path[0]


def _work(skipped: HistoryStep) -> str:
    if skipped.kind is EventKind.CALL:
        return f"the {skipped.op}"
    return "the backward" if skipped.kind is EventKind.BACKWARD else "the forward and backward"


def _worked(skipped: HistoryStep) -> str:
    return "went through" if skipped.kind is EventKind.CALL else "trained on"


def _operation(skipped: HistoryStep) -> str:
    return skipped.op if skipped.kind is EventKind.CALL else "gradient all-reduce"


def _fix(skipped: HistoryStep) -> str:
    if skipped.kind is EventKind.CALL:
        return (
            "Do not skip on one rank: let it take part with what adds nothing (zeros, an empty list), or let all ranks "
            "agree on the skip with an all_reduce(MAX) of a flag."
        )
    return (
        "Do not skip on one rank: multiply the bad loss by zero and run backward anyway, or let all ranks agree on the "
        "skip with an all_reduce(MAX) of a flag."
    )


def _effect(divergence: Divergence) -> str:
    ours, theirs = divergence.collectives()
    if ours and theirs and ours.group and theirs.group and ours.group != theirs.group:
        return "each side waits for the other in another process group"
    return "all later ones were paired with the wrong step until no partner was left"


def _counters_agree(facts: Facts, divergence: Divergence, skipped: HistoryStep) -> bool:
    """The counters, which lose nothing, agree: more batches without a forward, or more forwards without a backward."""
    gaps = {rank: _gap(facts, rank, divergence, skipped) for rank in (*divergence.odd, *divergence.reference)}
    ours = [gap for rank in divergence.odd if (gap := gaps[rank]) is not None]
    theirs = [gap for rank in divergence.reference if (gap := gaps[rank]) is not None]
    return len(ours) + len(theirs) == len(gaps) and min(ours) > max(theirs)


def _gap(facts: Facts, rank: Rank, divergence: Divergence, skipped: HistoryStep) -> int | None:
    """How many batches of this rank lack the skipped step, except the current one. None if the counters do not tell:
    of models that are not wrapped no forward is counted, so that there are more backwards than forwards."""
    counters, history = facts.counters(rank), facts.histories.get(rank)
    if counters is None or history is None:
        return None
    forwards = counters.forwards + counters.forwards_no_sync
    if skipped.kind is EventKind.BACKWARD:
        at_forward = bool(history.steps) and history.steps[-1].kind is EventKind.FORWARD
        gap = forwards - counters.backward_entered - at_forward
    else:
        site = divergence.diff.before.site if divergence.diff.before else None
        gap = sum(count.delivered for count in counters.loaders if count.site == site) - forwards
    return gap if gap >= 0 else None


def _evidence(facts: Facts, divergence: Divergence, skipped: HistoryStep) -> Iterator[str]:
    yield wording.parted(divergence.odd_next, skipped)
    yield from decisions.parted_by(facts, divergence)
    for rank in (*divergence.odd, *divergence.reference):
        counters = facts.counters(rank)
        if counters and skipped.kind is not EventKind.CALL:
            yield (
                f"rank {rank}: {wording.batches(counters.delivered)}, {counters.forwards} forwards, "
                f"{counters.backward_entered} backwards entered"
            )
