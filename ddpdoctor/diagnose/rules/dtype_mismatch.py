"""# DD215 dtype-mismatch

## What
All ranks are in the same collective with the same number of elements, but with different data types.

## Why it hangs
Only bytes are sent. If the types have different widths, gloo terminates a process, and NCCL hangs or continues with
corrupted data; if they have the same width, the result is silently wrong.

## Example
    scale = torch.from_numpy(values.std(axis=0))     # float64 where the file is old
    dist.all_reduce(scale)

## Fix
Set the type where the tensor is created: `torch.tensor(x, dtype=torch.float32)`, `.float()`.

## When it is wrong
If the sizes differ as well, it is DD214. A rank that is in another iteration at the same line also passes another
tensor, so all ranks must have made this call equally often.

## References
https://github.com/pytorch/pytorch/issues/150433 https://github.com/pytorch/pytorch/issues/150248
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import DTYPE_MISMATCH
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.divergence.unequal_tensors import Unequal, called_from, last_call
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import RankSet


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    found = last_call(facts)
    if found and len(found.sizes) == 1 and len(found.dtypes) > 1:
        yield _diagnosis(facts, found)


def _diagnosis(facts: Facts, found: Unequal) -> Diagnosis:
    call = found.call
    types = ", ".join(f"rank {rank}: {dtype}" for rank, (_, dtype) in sorted(found.given.items()))
    site = called_from(facts, found)
    return diagnosis(
        DTYPE_MISMATCH,
        facts.waiting,
        confidence=found.cap,
        blame=found.cap if found.odd else Confidence.POSSIBLE,
        culprits=found.odd,
        summary=f"the tensors that the ranks pass to {call.op} at {wording.place(site)} differ in type ({types})",
        why=(
            f"{call.op} sends bytes; nothing compares types. All ranks made the same calls up to here and pass "
            "equally many elements, of different types."
        ),
        fix="Set the dtype where the tensor is created, so that it does not depend on the rank's own data.",
        locations=(facts.location(found.odd or RankSet.of(found.given), site),) if site else (),
        evidence=tuple(f"rank {rank}: {n} elements of {dtype}" for rank, (n, dtype) in sorted(found.given.items())),
    )
