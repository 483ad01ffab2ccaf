"""# DD223 collective-in-compilation

## What
Some ranks wait in a collective that the compiler issues while it compiles, and the others are in another operation. Not
reproduced here: needs GPUs. The diagnosis is tested on constructed evidence, and is `possible` at most.

## Why it hangs
With `compiler_collectives`, and where the compiler chooses kernels together on all ranks, compiling is itself a meeting
of all ranks. If only some ranks compile (a guard failed there, the cache had the code elsewhere), the others run their
compiled code and never come to it.

## Example
    torch._dynamo.config.enable_compiler_collectives = True
    model = torch.compile(model)
    loss = model(batch)                      # one rank recompiles for a new length, the others have the code

## Fix
Let all ranks compile or none: the same shapes on all of them (pad, or mark the size as dynamic), one state of the
compiler's cache on all hosts, a warm-up of all shapes before training. Or turn the compiler's collectives off.

## When it is wrong
A function that is compiled may contain a collective of the user's own, which runs while it is traced. A rank that
compiles and waits for nobody is DD240.

## References
https://github.com/pytorch/pytorch/issues/126846 https://github.com/pytorch/pytorch/issues/155558
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import COLLECTIVE_IN_COMPILATION
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest import frames, operations
from ddpdoctor.diagnose.digest.waits import Wait
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model import torch_internals
from ddpdoctor.model.collectives import COLLECTIVE
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.model.torch_internals import Meaning


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    if facts.outcome is not Outcome.HANG or facts.blockers:
        return
    compilers = {rank: frame for rank in facts.waiting if (frame := _compiles(facts, rank))}
    rest = facts.waiting - RankSet.of(compilers)
    # a rank without a stack may be compiling, too
    if compilers and rest and all(facts.rank(rank).stacks for rank in rest) and not _together(facts, compilers, rest):
        yield _diagnosis(facts, compilers, rest)


def _compiles(facts: Facts, rank: Rank) -> Site | None:
    """The innermost frame of the compiler, if the rank is in a collective below it."""
    wait = facts.wait(rank)
    main = frames.main_thread(facts.rank(rank))
    if wait is None or wait.kind not in COLLECTIVE or main is None or wait.thread != main.os_id:
        return None
    return next((frame for frame in main.frames if torch_internals.is_in(frame.file, Meaning.COMPILES)), None)


def _together(facts: Facts, compilers: dict[Rank, Site], rest: RankSet) -> bool:
    """Whether a rank that does not compile is in the same operation as one that does: they have met."""
    theirs = {_operation(wait) for rank in rest if (wait := facts.wait(rank))}
    return any((wait := facts.wait(rank)) is not None and _operation(wait) in theirs for rank in compilers)


def _operation(wait: Wait) -> tuple[object, ...]:
    return (wait.group, wait.seq, operations.family(wait.op))


def _diagnosis(facts: Facts, compilers: dict[Rank, Site], rest: RankSet) -> Diagnosis:
    inside = RankSet.of(compilers)
    return diagnosis(
        COLLECTIVE_IN_COMPILATION,
        facts.waiting,
        confidence=Confidence.POSSIBLE,
        summary=(
            f"{wording.ranks(inside)} {wording.verb(inside, 'waits', 'wait')} in {wording.waiting(facts, inside)} "
            f"while compiling, {wording.ranks(rest)} in {wording.waiting(facts, rest)} without"
        ),
        why=(
            "The compiler meets the other ranks while it compiles, and they do not compile: their compiled code was "
            "there already. They are in the next operation of the program instead."
        ),
        fix=(
            "Let all ranks compile or none: the same shapes on all of them, a warm-up before training, one state "
            "of the compiler's cache on all hosts; or turn the compiler's collectives off."
        ),
        locations=(*facts.locations_of(inside), *facts.locations_of(rest)),
        evidence=tuple(
            f"rank {rank}: its stack is in {frame.function} of {frame.file.rpartition('/')[2]}"
            for rank, frame in compilers.items()
        ),
    )
