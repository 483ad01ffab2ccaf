"""# DD213 collective-order-mismatch

## What
The ranks issue the same collectives in a different order, or different operations (or another `src`) at the same line,
or the same operation from two lines with tensors of another size.

## Why it hangs
The collectives of a group are paired by order alone. One rank's all_gather is paired with another rank's all_reduce;
neither can complete, and each rank waits for partners that wait in the other operation. An all_reduce of 3 elements
that is paired with one of 1000 does not complete either; gloo may end a rank with SIGABRT.

## Example
    for name, value in metrics.items():      # insertion order differs between ranks
        agree[name](value)                   # all_reduce here, all_gather there

## Fix
Use the same order on every rank: iterate over `sorted(...)`, never over sets or dicts that are filled from data. Use
the same `src`.

## When it is wrong
A metric that is missing on one rank (DD211) looks the same at the moment of the hang, so this is at most `likely`.

## References
https://github.com/Lightning-AI/pytorch-lightning/issues/19680 https://github.com/NVIDIA/nccl/issues/296
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import COLLECTIVE_ORDER_MISMATCH
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.divergence import decisions
from ddpdoctor.diagnose.divergence.causes import Cause, divergences_of
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import RankSet


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for divergence in divergences_of(facts, Cause.ORDER):
        yield _diagnosis(facts, divergence)


def _diagnosis(facts: Facts, divergence: Divergence) -> Diagnosis:
    odd_next, reference_next = divergence.odd_next, divergence.reference_next
    ours, theirs = _operation(odd_next, reference_next), _operation(reference_next, odd_next)
    culprits = RankSet() if divergence.tie else (divergence.odd if divergence.minority else divergence.reference)
    waits = [wait for rank in (*divergence.odd, *divergence.reference) if (wait := facts.wait(rank))]
    seqs = sorted({wait.seq for wait in waits if wait.seq is not None})
    number = f" as operation {seqs[0]}" if len(seqs) == 1 else ""
    first, second = (
        (divergence.odd, divergence.reference) if divergence.minority else (divergence.reference, divergence.odd)
    )
    return diagnosis(
        COLLECTIVE_ORDER_MISMATCH,
        facts.waiting,
        confidence=Confidence.LIKELY,
        blame=Confidence.POSSIBLE if divergence.tie else Confidence.LIKELY,
        culprits=culprits,
        summary=(
            f"{wording.ranks(divergence.odd)} issued {_step(odd_next, reference_next)} where "
            f"{wording.ranks(divergence.reference)} issued {_step(reference_next, odd_next)}"
        ),
        why=(
            f"Collectives of a group are paired by their order{number}: {ours} on {wording.ranks(divergence.odd)} is "
            f"paired with {theirs} on {wording.ranks(divergence.reference)}: {wording.ranks(divergence.odd)} "
            f"{wording.now(facts, divergence.odd)}, {wording.ranks(divergence.reference)} "
            f"{wording.now(facts, divergence.reference)}."
        ),
        fix=(
            "Issue collectives in one fixed order on every rank, for instance over sorted names, not in an order that "
            "depends on data."
        ),
        locations=facts.locations_of(first) + facts.locations_of(second),
        evidence=(
            wording.parted(odd_next, reference_next),
            *decisions.parted_by(facts, divergence),
            *(f"rank {w.rank} waits in {w.op}, seq {w.seq}" for w in waits if w.mismatched),
        ),
    )


def _operation(step: HistoryStep | None, other: HistoryStep | None) -> str:
    """The operation, with its size if only the sizes differ."""
    if step is None:
        return ""
    resized = other is not None and step.issued == other.issued and not step.pairs_with(other)
    return f"{step.op} of {step.elements} element{'' if step.elements == 1 else 's'}" if resized else step.op


def _step(step: HistoryStep | None, other: HistoryStep | None) -> str:
    """The operation and its call site, with its root if only the root differs."""
    same_op = step is not None and other is not None and step.op == other.op
    if step is None or not same_op or step.root is None:
        return wording.step(step)
    return f"{step.op} with root {step.root} at {wording.place(step.site)}"
