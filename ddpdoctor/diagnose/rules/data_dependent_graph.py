"""# DD209 data-dependent-graph

## What
On one rank, a part of the model was not used in a step: a branch, an expert, a modality without samples.

## Why it hangs
DDP waits for the gradients of all parameters in a bucket. If some gradients never arrive, that rank's bucket is not
reduced and its backward returns, while the others wait for the reduction. A loop of the program's own that reduces
only parameters with a gradient makes fewer calls on that rank.

## Example
    if batch.images is not None:                 # one rank's last batch has none
        features = features + self.vision(batch.images)

## Fix
Keep every parameter in the graph (`loss + 0 * sum(p.sum() for p in unused)`), or wrap the model with
`find_unused_parameters=True`. Better: give every rank samples of every kind.

## When it is wrong
It is only reported if the counts of forwards, backwards and no_sync agreed on all ranks when one rank's backward
returned, and that with fewer reductions than the backward in which the others wait; forwards that it has made since, as
in an evaluation, are those of its history. Collectives of the program's own autograd
functions count as well, and are at most `likely`: the backward may have left one out by a condition of its own.

## References
https://github.com/open-mmlab/mmdetection/issues/2193 https://github.com/pytorch/pytorch/issues/40566
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import DATA_DEPENDENT_GRAPH
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.digest.waits import Wait
from ddpdoctor.diagnose.divergence.backward_calls import (
    FewerReductions,
    SmallerGraph,
    fewer_reductions,
    smaller_graph,
)
from ddpdoctor.diagnose.divergence.causes import Cause, divergences_of
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.missing_gradients import MissingGradient, missing_gradient
from ddpdoctor.diagnose.divergence.reduced_names import unusual_side
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.collectives import Kind
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.progress import Counters, EventKind
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site

_FIX = (
    "Keep every parameter in the graph of every step (add `0 * p.sum()` for unused ones), or wrap the model with "
    "find_unused_parameters=True."
)


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for divergence in divergences_of(facts, Cause.SMALLER_GRAPH):
        if found := smaller_graph(facts, divergence):
            yield _by_history(facts, divergence, found)
        elif reduced := missing_gradient(facts, divergence):
            yield _by_condition(facts, divergence, reduced)
    if facts.splits:
        return
    inside = {rank: wait for rank in facts.waiting if _in_backward(facts, rank) and (wait := facts.wait(rank))}
    returned = [rank for rank in facts.waiting if rank not in inside and _returned(facts, rank, inside)]
    if inside and returned:
        yield _diagnosis(facts, RankSet.of(returned), RankSet.of(inside))
    elif not inside and (counted := fewer_reductions(facts)):
        yield _by_numbers(facts, counted)


def _in_backward(facts: Facts, rank: Rank) -> bool:
    page = facts.rank(rank).page
    return page is not None and any(call.kind is Kind.BACKWARD for call in page.calls)


def _returned(facts: Facts, rank: Rank, inside: dict[Rank, Wait]) -> bool:
    """This rank's same backward is over, but its next operation has the sequence number of the others' reduction, or is
    none of that group, to which it has given nothing since."""
    wait, mine = facts.wait(rank), facts.counters(rank)
    if wait is None or mine is None or mine.backward_left != mine.backward_entered:
        return False
    theirs = [counters for other in inside if (counters := facts.counters(other))]
    met = all(other.group == wait.group and other.seq == wait.seq for other in inside.values())
    met = met and any(other in wait.mismatched for other in inside)
    since = _forwards_since(facts, rank)
    return (
        len(theirs) == len(inside)
        and since is not None
        and all(_same_work(mine, since, other) and other.backward_left == mine.backward_left - 1 for other in theirs)
        and (met or all(_gave_nothing(facts, rank, other) for other in inside.values()))
    )


def _gave_nothing(facts: Facts, rank: Rank, other: Wait) -> bool:
    """Whether the rank waits outside of the group in which the other one does, and has not issued that operation."""
    wait, recorder = facts.wait(rank), facts.rank(rank).recorder
    if wait is None or wait.seq is not None or recorder is None or other.group is None or other.seq is None:
        return False
    issued = [entry.seq for entry in recorder.entries if entry.group == other.group.name and not entry.p2p]
    return bool(issued) and max(issued) < other.seq


def _same_work(returned: Counters, since: tuple[int, int], inside: Counters) -> bool:
    """Whether both had done the same when the one's backward returned; it has made the forwards `since` later."""
    synchronised, unsynchronised = since
    return (
        returned.forwards - synchronised,
        returned.forwards_no_sync - unsynchronised,
        returned.backward_entered,
    ) == (inside.forwards, inside.forwards_no_sync, inside.backward_entered)


def _forwards_since(facts: Facts, rank: Rank) -> tuple[int, int] | None:
    """The forwards after the rank's last backward, those under no_sync apart: an evaluation, or the next step. None if
    its history does not show the backward.
    """
    kinds = [step.kind for step in facts.histories[rank].steps] if rank in facts.histories else []
    if EventKind.BACKWARD not in kinds:
        return None
    later = kinds[::-1][: kinds[::-1].index(EventKind.BACKWARD)]
    return later.count(EventKind.FORWARD), later.count(EventKind.FORWARD_NO_SYNC)


def _perhaps_shifted(facts: Facts, culprits: RankSet, inside: RankSet) -> bool:
    """Whether a rank that has gone on may have left out a call before, in a part of the histories that is lost: the
    reduction in which the others wait may then be that of which it had enough.
    """
    later = any(_forwards_since(facts, rank) != (0, 0) for rank in culprits)
    return later and any(history.truncated for rank in (*culprits, *inside) if (history := facts.histories.get(rank)))


def _diagnosis(facts: Facts, culprits: RankSet, inside: RankSet) -> Diagnosis:
    proven = all(rank in facts.graph.stuck for rank in (*culprits, *inside))
    confidence = Confidence.CERTAIN if proven and not _perhaps_shifted(facts, culprits, inside) else Confidence.LIKELY
    site = _last_backward(facts, culprits.members[0])
    who, others = wording.ranks(culprits), wording.ranks(inside)
    return diagnosis(
        DATA_DEPENDENT_GRAPH,
        facts.waiting,
        confidence=confidence,
        blame=confidence if len(culprits) < len(inside) else Confidence.LIKELY,
        culprits=culprits,
        summary=(
            f"{who}'s backward{f' at {wording.place(site)}' if site else ''} returned without the reduction in which "
            f"{others} {wording.verb(inside, 'waits', 'wait')}"
        ),
        why=(
            f"{who.capitalize()} had run the same batches, forwards and backwards as {others}, but a part of its model "
            f"got no gradient, so DDP did not reduce that bucket there. {wording.verb(culprits, 'It is', 'They are')} "
            f"in {wording.waiting(facts, culprits)}; {others} {wording.verb(inside, 'waits', 'wait')} in "
            f"{wording.waiting(facts, inside)}."
        ),
        fix=_FIX,
        locations=(
            *((facts.location(culprits, site),) if site else ()),
            *facts.locations_of((*inside, *culprits)),
        ),
        evidence=tuple(line for rank in (*culprits, *inside) for line in _evidence(facts, rank)),
    )


def _by_numbers(facts: Facts, found: FewerReductions) -> Diagnosis:
    """All have left their backwards, as with NCCL, where these do not wait: the numbers of the operations tell."""
    site = _last_backward(facts, found.fewer.members[0])
    who, others = wording.ranks(found.fewer), wording.ranks(found.more)
    return diagnosis(
        DATA_DEPENDENT_GRAPH,
        facts.waiting,
        confidence=Confidence.LIKELY,
        culprits=found.fewer,
        summary=(
            f"{who}'s backwards{f' at {wording.place(site)}' if site else ''} reduced less than those of {others}"
        ),
        why=(
            f"All ranks did the same, up to {wording.step(found.last)}, which is collective {found.number} on {who} "
            f"and {found.expected} on {others}: a part of the model got no gradient on {who}, so DDP did not reduce "
            f"that bucket there. {who.capitalize()} {wording.verb(found.fewer, 'is', 'are')} in "
            f"{wording.waiting(facts, found.fewer)}; {others} {wording.verb(found.more, 'waits', 'wait')} in "
            f"{wording.waiting(facts, found.more)}."
        ),
        fix=_FIX,
        locations=(
            *((facts.location(found.fewer, site),) if site else ()),
            *facts.locations_of((*found.more, *found.fewer)),
        ),
        evidence=tuple(line for rank in (*found.fewer, *found.more) for line in _evidence(facts, rank)),
    )


def _by_history(facts: Facts, divergence: Divergence, found: SmallerGraph) -> Diagnosis:
    """The program issues collectives in a backward of its own, where the histories show them."""
    confidence = weaker(Confidence.LIKELY, divergence.cap)
    site = _last_backward(facts, found.returned.members[0])
    who, others, call = wording.ranks(found.returned), wording.ranks(found.inside), wording.step(found.call)
    ran = f"ran as many forwards and backwards as {others}"
    return diagnosis(
        DATA_DEPENDENT_GRAPH,
        facts.waiting,
        confidence=confidence,
        blame=confidence if len(found.returned) < len(found.inside) else weaker(confidence, Confidence.POSSIBLE),
        culprits=RankSet() if divergence.tie else found.returned,
        summary=(
            f"{who}'s backward{f' at {wording.place(site)}' if site else ''} returned without {call}, in which "
            f"{others} {wording.verb(found.inside, 'waits', 'wait')}"
        ),
        why=(
            f"{who.capitalize()} {ran}, and made this call in earlier ones; this time what calls it was not part of "
            f"the loss, so backward did not reach it. {wording.verb(found.returned, 'It is', 'They are')} in "
            f"{wording.waiting(facts, found.returned)}."
        ),
        fix=(
            "Keep everything that communicates in its backward in the graph of every step: add `0 * output.sum()` of "
            "it to a loss that does not use it."
        ),
        locations=(
            *((facts.location(found.returned, site),) if site else ()),
            *facts.locations_of((*found.inside, *found.returned)),
        ),
        evidence=(
            wording.parted(divergence.odd_next, divergence.reference_next),
            *(line for rank in (*found.returned, *found.inside) for line in _evidence(facts, rank)),
        ),
    )


def _by_condition(facts: Facts, divergence: Divergence, found: MissingGradient) -> Diagnosis:
    """The program reduces the gradients in a loop of its own, and leaves out parameters that have none."""
    confidence = weaker(Confidence.LIKELY, divergence.cap)
    culprits = unusual_side(facts, found.call, found.fewer, found.more)
    ours, theirs = wording.ranks(found.fewer), wording.ranks(found.more)
    return diagnosis(
        DATA_DEPENDENT_GRAPH,
        facts.waiting,
        confidence=confidence,
        blame=confidence if culprits else Confidence.POSSIBLE,
        culprits=culprits,
        summary=f"{ours} reduced fewer gradients at {wording.place(found.call.site)} than {theirs}",
        why=(
            f"Parameters without a gradient are left out (`{facts.statement(found.condition)}` at "
            f"{wording.place(found.condition)}), and {ours} had one fewer in this step. {theirs.capitalize()} "
            f"{wording.inside(facts, found.more)}; {ours} {wording.verb(found.fewer, 'is', 'are')} already in "
            f"{wording.waiting(facts, found.fewer)}."
        ),
        fix="Reduce every parameter on every rank: where there is no gradient, reduce zeros.",
        locations=(
            facts.location(culprits or found.fewer, found.condition),
            *facts.locations_of((*found.more, *found.fewer)),
        ),
        evidence=(wording.parted(divergence.odd_next, divergence.reference_next),),
    )


def _last_backward(facts: Facts, rank: Rank) -> Site | None:
    history = facts.histories.get(rank)
    steps = history.steps if history else ()
    return next((step.site for step in reversed(steps) if step.kind is EventKind.BACKWARD), None)


def _evidence(facts: Facts, rank: Rank) -> Iterator[str]:
    counters = facts.counters(rank)
    if counters:
        yield (
            f"rank {rank}: {counters.forwards} forwards, {counters.backward_entered} backwards entered, "
            f"{counters.backward_left} left"
        )
