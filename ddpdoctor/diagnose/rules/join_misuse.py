"""# DD221 join-misuse

## What
The training loop runs under torch's `Join` and contains a collective that Join does not know: a barrier, a metric.

## Why it hangs
With Join, ranks without data replay the collectives of the modules passed to it, and only these. A rank that still has
data waits in the other collective for ranks that are replaying something else. With NCCL, where a barrier is an
all-reduce, it may meet one of Join's own instead, and the rank without data ends with an error of torch's.

## Example
    with Join([model]):
        for batch in loader:
            train(batch)
            dist.barrier()                # not replayed

## Fix
Move other collectives out of the loop, or use `throw_on_early_termination=True` and stop all ranks together.

## When it is wrong
If the waiting collective is not in the block under Join, the ranks diverged in another way; then it is only `possible`.

## References
https://github.com/pytorch/pytorch/issues/38174 https://pytorch.org/docs/stable/distributed.algorithms.join.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import JOIN_MISUSE
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.failure import Failure, failure_site, raised_by_join, said
from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.divergence.sharded_modules import implicit
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.model.torch_internals import Meaning
from ddpdoctor.program.nodes import last_name, walk

_FIX = (
    "Move the collective out of the loop, or pass throw_on_early_termination=True to Join and stop all ranks together."
)


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    own = [failure for failure in facts.failures if not failure.victim]
    if facts.outcome is Outcome.CRASH and own and raised_by_join(own[0]):
        yield from _raised(facts, own[0])
    if facts.outcome is not Outcome.HANG:
        return
    joined = RankSet.of(rank for rank in facts.waiting if _in_join(facts, rank))
    outside = RankSet.of(rank for rank in facts.waiting - joined if _own_collective(facts, rank))
    if joined and outside:
        yield _diagnosis(facts, joined, outside)


def _raised(facts: Facts, first: Failure) -> Iterator[Diagnosis]:
    """With NCCL a collective of the loop may meet one of Join's own, which then has wrong numbers."""
    others = RankSet.of(rank for rank in facts.states if rank != first.rank)
    made = {rank: call for rank in others if (call := _last_own_call(facts, rank))}
    if first.raised is None or not made:
        return
    outside, joined = RankSet.of(made), RankSet.of([first.rank])
    call = made[outside.members[0]]
    ours, theirs, place = wording.ranks(outside), wording.ranks(joined), wording.place(call.site)
    end = failure_site(facts.rank(first.rank), first)
    yield diagnosis(
        JOIN_MISUSE,
        facts.waiting,
        confidence=Confidence.LIKELY,
        culprits=outside,
        summary=f"{ours} called {call.op} at {place} in a loop under Join, which does not replay it",
        why=(
            f"{theirs.capitalize()} had no data left and replayed what the model issues, nothing else. A collective of "
            f"{ours} met one of Join's own, which then had wrong numbers: {first.raised.type} where the block ends."
        ),
        fix=_FIX,
        locations=(
            *((facts.location(outside, call.site),) if call.site else ()),
            *((facts.location(joined, end),) if end else ()),
        ),
        evidence=(f"rank {first.rank} raised {first.raised.type}: {said(first.raised)}",),
    )


def _last_own_call(facts: Facts, rank: Rank) -> HistoryStep | None:
    """The last collective that the rank called itself under Join; not one that a model issued for it."""
    history = facts.histories.get(rank)
    return next(
        (
            step
            for step in reversed(history.steps if history else ())
            if step.kind is EventKind.CALL
            and not implicit(facts, step)
            and any(_with_join(facts, frame) for frame in step.path)
        ),
        None,
    )


def _in_join(facts: Facts, rank: Rank) -> bool:
    """The rank has no data left and replays."""
    main = frames.main_thread(facts.rank(rank))
    return main is not None and frames.are_in(main.frames, Meaning.JOINS)


def _own_collective(facts: Facts, rank: Rank) -> bool:
    """The rank waits in a collective that the program itself called, not one of the model's forward or backward."""
    main = frames.main_thread(facts.rank(rank))
    wait = facts.wait(rank)
    if main is None or wait is None or wait.site is None or frames.waits_implicitly(main):
        return False
    return not any("/torch/nn/" in frame.file for frame in main.frames)


def _diagnosis(facts: Facts, joined: RankSet, outside: RankSet) -> Diagnosis:
    covered = all(_under_join(facts, rank) for rank in outside)
    apart = any((wait := facts.wait(rank)) and wait.mismatched for rank in (*joined, *outside))
    confidence = Confidence.LIKELY if covered and apart else Confidence.POSSIBLE
    ours, theirs = wording.ranks(outside), wording.ranks(joined)
    return diagnosis(
        JOIN_MISUSE,
        facts.waiting,
        confidence=confidence,
        culprits=outside,
        summary=f"{ours} {wording.inside(facts, outside)} in a loop under Join, which does not replay it",
        why=(
            f"{theirs.capitalize()} {wording.verb(joined, 'has', 'have')} no data left and "
            f"{wording.verb(joined, 'replays', 'replay')} what the model issues, nothing else. {ours.capitalize()} "
            f"{wording.verb(outside, 'needs', 'need')} them in {wording.waiting(facts, outside)}."
        ),
        fix=_FIX,
        locations=(*facts.locations_of(outside), *facts.locations_of(joined)),
        evidence=(f"{theirs}: inside join.py",),
    )


def _under_join(facts: Facts, rank: Rank) -> bool:
    """Some frame of the rank is inside a `with` that names Join."""
    return any(_with_join(facts, frame) for frame in facts.stack(rank))


def _with_join(facts: Facts, site: Site) -> bool:
    tree = facts.program.tree(site.file)
    blocks = [node for node in walk(tree) if isinstance(node, ast.With)] if tree else []
    around = [node for node in blocks if node.lineno <= site.line <= (node.end_lineno or node.lineno)]
    words = {last_name(inner) for node in around for item in node.items for inner in walk(item.context_expr)}
    return bool(words & {"Join", "join"})
