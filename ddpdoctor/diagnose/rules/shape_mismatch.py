"""# DD214 shape-mismatch

## What
All ranks are in the same collective at the same line, or have left it, but their tensors have different sizes.

## Why it hangs
The backend assumes that the sizes agree. gloo terminates a process that receives more than it has room for, or lets a
rank that expects less go on while the others wait for the rest; NCCL waits for data that no rank sends, or continues
with corrupted data.

## Example
    classes = int(labels.max()) + 1              # of this rank's own data
    counts = torch.zeros(classes, classes)
    dist.all_reduce(counts)

## Fix
Agree on the size first (all_reduce(MAX) of it), and pad. For batches: `drop_last=True`. Where a rank has left out a
call of a loop, as the sizes in earlier rounds tell: make the call for each part on every rank.

## When it is wrong
Sizes may legally differ in all_to_all, gather, scatter and object collectives; for these nothing is reported. A rank
that is one iteration behind also passes another size, so all ranks must have made this call equally often; that some
have left it tells only if none of those that wait in it gave what they gave.

## References
https://github.com/Lightning-AI/pytorch-lightning/issues/7773 https://github.com/NVIDIA/nccl/issues/1417
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import SHAPE_MISMATCH
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.divergence.unequal_tensors import Unequal, called_from, last_call, left_out
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import RankSet


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    found = last_call(facts)
    if found and len(found.sizes) > 1:
        yield _diagnosis(facts, found)


_FIX_SIZE = (
    "Agree on the size first, for instance with an all_reduce(MAX) of it, and pad to it; or drop the last batch."
)
_FIX_ORDER = (
    "Let every rank make the call for each part in the same order, with zeros where it has nothing, such as for a "
    "parameter without a gradient."
)


def _cause(ahead: RankSet) -> str:
    """What the sizes of the calls before tell."""
    if not ahead:
        return "All ranks made the same calls up to here, so the call is right and only its argument is wrong."
    who, pass_, seem = wording.ranks(ahead), wording.verb(ahead, "passes", "pass"), wording.verb(ahead, "seems", "seem")
    return (
        f"In earlier rounds, what {who} {pass_} now came behind what the others pass now: {who} {seem} to have left "
        "out a call that the others make."
    )


def _diagnosis(facts: Facts, found: Unequal) -> Diagnosis:
    call = found.call
    sizes = ", ".join(f"rank {rank}: {numel}" for rank, (numel, _) in sorted(found.given.items()))
    site = called_from(facts, found)
    everyone = RankSet.of(found.given)
    ahead = left_out(facts, found)
    return diagnosis(
        SHAPE_MISMATCH,
        facts.waiting,
        confidence=found.cap,
        blame=found.cap if found.odd else Confidence.POSSIBLE,
        culprits=found.odd or ahead,
        summary=f"the tensors that the ranks pass to {call.op} at {wording.place(site)} differ in size ({sizes})",
        why=f"{call.op} needs tensors of one size on all ranks; nothing checks it. {_cause(ahead)}",
        fix=_FIX_ORDER if ahead else _FIX_SIZE,
        locations=(facts.location(found.odd or everyone, site),) if site else (),
        evidence=tuple(f"rank {rank}: {n} elements of {dtype}" for rank, (n, dtype) in sorted(found.given.items())),
    )
