"""# DD240 compile-skew

## What
A rank is compiling (torch.compile, Triton, an extension that is built at first use) while the others wait for it.

## Why it hangs
It does not hang: the others wait in a collective until compilation finishes. The rank compiles alone because it alone
met something new, such as a shape that the others did not have, or because only the others had a cache. If compilation
takes longer than the process group's timeout, the job ends with an error that blames the collective.

## Example
    model = DistributedDataParallel(torch.compile(network))
    for texts in loader:                     # rank 1 alone meets a length that is new
        model(texts).mean().backward()

## Fix
Give all ranks the same shapes (pad, or split into pieces of one length), or declare which size varies
(`torch._dynamo.mark_dynamic`, `dynamic=True`). Warm up before training, with the cache folder on every node. Use a
longer timeout for the first steps.

## When it is wrong
The evidence does not show why this rank compiles and the others do not: a shape, a cache, or a code path that only this
rank takes.

## References
https://github.com/karpathy/nanochat/issues/722 https://github.com/pytorch/pytorch/issues/155558
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.blocked.compiling import Compiling, compiling
from ddpdoctor.diagnose.codes import COMPILE_SKEW
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import Rank, RankSet


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    found = {rank: how for rank in facts.blockers if (how := compiling(facts, rank))}
    if found and facts.waiting:
        yield _diagnosis(facts, found)


def _diagnosis(facts: Facts, found: Mapping[Rank, Compiling]) -> Diagnosis:
    compilers = RankSet.of(found)
    waiting = facts.waiting - compilers
    who, site = wording.ranks(compilers), facts.state(compilers.members[0]).site
    where = f" at {wording.place(site)}" if site else ""
    return diagnosis(
        COMPILE_SKEW,
        waiting,
        confidence=Confidence.LIKELY,
        culprits=compilers,
        summary=(
            f"{who} {wording.verb(compilers, 'compiles', 'compile')}{where} while {wording.ranks(waiting)} "
            f"{wording.verb(waiting, 'waits', 'wait')} in {wording.waiting(facts, waiting)}"
        ),
        why=(
            f"This is slow, not a deadlock: the others continue as soon as {who} "
            f"{wording.verb(compilers, 'has', 'have')} finished compiling. If that takes longer than "
            "the process group's timeout, the job ends with an error that blames the collective."
        ),
        fix=(
            "Give all ranks the same shapes (pad, or pieces of one length) or mark the varying size as dynamic; "
            "warm up before training, share the compiler's cache, or give init_process_group a longer timeout."
        ),
        locations=(*facts.locations_of(compilers), *facts.locations_of(waiting)),
        evidence=tuple(line for rank, how in found.items() for line in _evidence(facts, rank, how)),
    )


def _evidence(facts: Facts, rank: Rank, how: Compiling) -> Iterator[str]:
    yield f"rank {rank}: {how.shown_by}"
    motion = facts.rank(rank).motion
    if motion and motion.cpu_share:
        apart = wording.seconds(motion.seconds)
        yield f"rank {rank}: {motion.cpu_share:.0%} of a core between two samples {apart} apart"
