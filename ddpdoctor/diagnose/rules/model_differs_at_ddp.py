"""# DD264 model-differs-at-ddp

## What
The model passed to DistributedDataParallel is not the same on every rank: it has other layers or other sizes.

## Why it hangs
DDP compares the parameters when it is constructed, and the ranks that differ raise an exception. The others lose their
peers, or wait for ranks that have exited.

## Example
    model = build(labels=int(targets.max()) + 1)      # of this rank's own data
    model = DistributedDataParallel(model)

## Fix
Build the model from values that all ranks share: the configuration, or numbers that were all-reduced.

## When it is wrong
torch compares sizes with those of rank 0: if most ranks raise, rank 0 is the one that differs. Where the numbers of
parameters differ, every rank raises, and most numbers decide. `0 params` on a rank can also mean that the rank died.

## References
https://github.com/huggingface/accelerate/issues/1481 https://github.com/pytorch/pytorch/issues/102438
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import MODEL_DIFFERS_AT_DDP
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest import failure as failures
from ddpdoctor.diagnose.digest.failure import Failure
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import Rank, RankSet


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    own = [failure for failure in facts.failures if not failure.victim]
    if own and failures.model_differs(own[0]):
        yield _diagnosis(facts, own)


def _diagnosis(facts: Facts, own: list[Failure]) -> Diagnosis:
    first = own[0]
    complained = RankSet.of(failure.rank for failure in own if failures.model_differs(failure))
    sizes = failures.model_sizes(own)
    culprits, sure = _unlike_most(sizes) if sizes else _odd(facts, complained)
    raised = first.raised
    said = raised.message.strip().splitlines()[0] if raised and raised.message.strip() else ""
    site = failures.failure_site(facts.rank(first.rank), first)
    confidence = Confidence.CERTAIN if "inconsistent 0 params" not in said else Confidence.LIKELY
    return diagnosis(
        MODEL_DIFFERS_AT_DDP,
        facts.waiting,
        confidence=confidence,
        blame=sure,
        culprits=culprits,
        summary=f"{_which(complained, culprits, sizes)} at {wording.place(site)}: {said[:160]}",
        why=(
            "DistributedDataParallel compares the parameters of all ranks when it is constructed, and found a "
            "difference. The other ranks need no change; they only lost their peer."
        ),
        fix=(
            "Build the model on every rank from the same values: from the configuration, or from numbers that were "
            "all-reduced, not from the rank's own data."
        ),
        locations=(facts.location(culprits or complained, site),) if site else (),
        evidence=tuple(f"rank {f.rank} raised {f.raised.type}: {f.raised.message[:160]}" for f in own if f.raised),
        traceback=raised.traceback if raised else "",
    )


def _which(complained: RankSet, culprits: RankSet, sizes: Mapping[Rank, int]) -> str:
    known = RankSet.of(sizes)
    if not sizes:
        return f"the model of {wording.ranks(complained)} differs from rank 0's"
    if not culprits:
        return f"the models of {wording.ranks(known)} differ"
    return f"the model of {wording.ranks(culprits)} differs from that of {wording.ranks(known - culprits)}"


def _unlike_most(sizes: Mapping[Rank, int]) -> tuple[RankSet, Confidence]:
    """The ranks whose models have another number of parameters than those of most."""
    usual, times = Counter(sizes.values()).most_common(1)[0]
    if 2 * times <= len(sizes):
        return RankSet(), Confidence.POSSIBLE
    return RankSet.of(rank for rank, number in sizes.items() if number != usual), Confidence.LIKELY


def _odd(facts: Facts, complained: RankSet) -> tuple[RankSet, Confidence]:
    """torch compares with rank 0, and survivors may have been ended before they could raise."""
    size = facts.evidence.world_size
    if len(complained) == size - 1 and size > 2:
        return RankSet.of(range(size)) - complained, Confidence.LIKELY
    return (complained, Confidence.LIKELY) if size > 2 else (RankSet(), Confidence.POSSIBLE)
