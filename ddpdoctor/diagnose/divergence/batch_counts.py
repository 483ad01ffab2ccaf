"""How many batches and micro-batches each side received, from the ranks' counters and histories."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping

from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.divergence.branch_points import BranchKind, BranchPoint
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.patterns import Pattern
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.progress import EventKind, LoaderCount
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import walk

_FORWARDS = frozenset({EventKind.FORWARD, EventKind.FORWARD_NO_SYNC})
_ROUND = frozenset({EventKind.NEXT, EventKind.OPTIMIZER_STEP})


def only_ended(divergence: Divergence) -> bool:
    """Whether the end of the loop is the only way out in the source, and no iteration can pass without a trace."""
    loops = [point for point in divergence.branch_points if point.kind in (BranchKind.DATA, BranchKind.COUNT)]
    return len(divergence.branch_points) == len(loops) == 1 and not loops[0].idle


def counts(facts: Facts, divergence: Divergence) -> dict[Rank, LoaderCount | None]:
    """Each rank's counters for the loader at which the odd ranks diverged."""
    ranks = (*divergence.odd, *divergence.reference)
    return {rank: _count(facts, rank, divergence.odd_site) for rank in ranks}


def ended_before(facts: Facts, divergence: Divergence) -> bool:
    """Whether counters or complete histories show that the loader gave the odd ranks fewer batches and then ended."""
    loop, short, long = divergence.odd_site, divergence.odd, divergence.reference
    if loop is None or _left_before_end(facts, divergence):
        return False
    agree = _counters_agree(counts(facts, divergence), short, long)
    return agree or _ends_in_earlier_epoch(facts, loop, short, long)


def fewer_batches(facts: Facts, divergence: Divergence) -> bool:
    """Whether the odd ranks can have received fewer batches. Equal counts exclude it, as then something else made the
    ranks diverge, except in loops that take several batches per iteration.
    """
    if _left_before_end(facts, divergence):
        return False
    if ended_before(facts, divergence) or _draws_several(divergence):
        return True
    return not all(counts(facts, divergence).values())


def _left_before_end(facts: Facts, divergence: Divergence) -> bool:
    """Whether a rank of the longer side has left the loop before its end, and may be in another round: its batches say
    nothing of how many there were. Of the shorter side, which may have broken off as often, none more."""
    given = counts(facts, divergence)
    left = {
        rank: count.made - count.stops - _is_in(facts, rank, count.site)
        for rank, count in given.items()
        if count is not None and count.made
    }
    short = [left[rank] for rank in divergence.odd if rank in left]
    return any(left.get(rank, 0) > max(0, *short) for rank in divergence.reference) if short else False


def _is_in(facts: Facts, rank: Rank, loop: Site) -> bool:
    """Whether the rank may be in a round of the loop: the last that it had of the loader was a batch."""
    history = facts.histories.get(rank)
    of_loader = (EventKind.NEXT, EventKind.STOP_ITERATION)
    last = next((s for s in reversed(history.steps if history else ()) if s.site == loop and s.kind in of_loader), None)
    return last is None or last.kind is EventKind.NEXT


def ended_alike(facts: Facts, divergence: Divergence) -> bool:
    """Whether the end of the odd ranks' data is no difference: all ranks received equally many batches, and none of the
    odd ones has begun the loop anew.
    """
    if divergence.pattern is not Pattern.ENDED_EARLY or fewer_batches(facts, divergence):
        return False
    given = {count.delivered for count in counts(facts, divergence).values() if count}
    again = any(step.kind is EventKind.NEXT and step.site == divergence.odd_site for step in divergence.diff.left)
    return len(given) == 1 and not again


def _draws_several(divergence: Divergence) -> bool:
    """Whether an iteration takes more than one batch (`zip`), so that the rank that ran out received as many as the
    others.
    """
    before = divergence.diff.before
    return before is not None and before.kind is EventKind.NEXT and before.site == divergence.odd_site


def _count(facts: Facts, rank: Rank, loop: Site | None) -> LoaderCount | None:
    counters = facts.counters(rank)
    return next((c for c in counters.loaders if c.site == loop), None) if counters else None


def _counters_agree(given: Mapping[Rank, LoaderCount | None], short: RankSet, long: RankSet) -> bool:
    """Whether the counters, which lose nothing, say the same on every rank: fewer batches and an end on the short side.

    Loaders that prefetch one batch have seen the end on the other side too.
    """
    few = [c for r in short if (c := given[r])]
    many = [c for r in long if (c := given[r])]
    if len(few) != len(short) or len(many) != len(long):
        return False
    return max(c.delivered for c in few) < min(c.delivered for c in many) and (
        min(c.stops for c in few) >= max(1, *(c.stops for c in many))
    )


def _ends_in_earlier_epoch(facts: Facts, loop: Site, short: RankSet, long: RankSet) -> bool:
    """Whether the short side is already in a later epoch: it got fewer batches in the first epoch that differs."""
    few, many = ([_epochs(facts, rank, loop) for rank in side] for side in (short, long))
    if not all(few) or not all(many):
        return False
    rounds = list(zip(*few, *many, strict=False))
    first = next((n for n, each in enumerate(rounds) if len(set(each)) > 1), len(rounds) - 1)
    ended, longest = rounds[first][: len(few)], rounds[first][len(few) :]
    return max(ended) < min(longest) and all(len(epochs) > first + 1 for epochs in few)


def _epochs(facts: Facts, rank: Rank, loop: Site) -> list[int]:
    """Batches per epoch, the unfinished last one included; none if the history has lost some."""
    history = facts.histories.get(rank)
    if history is None or history.truncated:
        return []
    found = [0]
    for step in history.steps:
        if step.site == loop and step.kind is EventKind.NEXT:
            found[-1] += 1
        elif step.site == loop and step.kind is EventKind.STOP_ITERATION:
            found.append(0)
    return found


def more_microbatches(facts: Facts, divergence: Divergence) -> tuple[HistoryStep, RankSet, RankSet] | None:
    """The forward or backward that one side repeated where the other updated its weights, and both sides."""
    if divergence.pattern is Pattern.NO_SYNC and divergence.odd_next is not None:
        parted = whole_step(facts, divergence) is False
        return (divergence.odd_next, divergence.odd, divergence.reference) if parted else None
    if not _after_backward(facts, divergence) or divergence.pattern not in (Pattern.UNCLEAR, Pattern.LEFT_LOOP):
        return None
    if any(
        point.kind is BranchKind.CONDITION and not _in_generator(facts, point) for point in divergence.branch_points
    ):
        return None
    sides = ((divergence.odd_next, divergence.reference_next), (divergence.reference_next, divergence.odd_next))
    for (more, less), ranks in zip(sides, (divergence.odd, divergence.reference), strict=True):
        rest = divergence.reference if ranks == divergence.odd else divergence.odd
        # of a model that is not called through its wrapper only the backwards are recorded
        part = more is not None and (more.kind in _FORWARDS or more == divergence.diff.before)
        if more is None or not part or less is None or not _updates(facts, less, rest):
            continue
        if _again(facts, more, ranks) and _as_many_batches(facts, divergence):
            return more, ranks, rest
    return None


def whole_step(facts: Facts, divergence: Divergence) -> bool | None:
    """Whether the odd ranks ended their step, or fetched another batch, between the forward that they ran under no_sync
    and the next one; otherwise both are parts of one batch. None if no batch was recorded, so that nothing tells."""
    history = facts.histories.get(divergence.compared.pair[0])
    steps = history.steps if history else ()
    pairs = (divergence.diff.before, divergence.odd_next)
    start = max((n for n in range(1, len(steps)) if (steps[n - 1], steps[n]) == pairs), default=len(steps))
    after = tuple(itertools.takewhile(lambda step: step.kind not in _FORWARDS, steps[start + 1 :]))
    if any(step.kind in (EventKind.NEXT, EventKind.OPTIMIZER_STEP) for step in after):
        return True
    recorded = any(step.kind is EventKind.NEXT for step in steps)
    return False if recorded and start + 1 + len(after) < len(steps) else None


def _after_backward(facts: Facts, divergence: Divergence) -> bool:
    """Whether the last common step is a backward, or a collective that its hooks made (FSDP's)."""
    before, history = divergence.diff.before, facts.histories.get(divergence.compared.pair[0])
    if before is None or history is None:
        return False
    return before.kind is EventKind.BACKWARD or any(
        step.kind is EventKind.BACKWARD and step.site == before.site for step in history.steps
    )


def _updates(facts: Facts, step: HistoryStep, ranks: RankSet) -> bool:
    """Whether the step is an update of the weights, or came before one each time (the norm of sharded gradients)."""
    if step.kind is EventKind.OPTIMIZER_STEP:
        return True
    history = facts.histories.get(ranks.members[0])
    steps = history.steps if history else ()
    after = [
        next((later.kind for later in steps[n:] if later.kind in (*_ROUND, *_FORWARDS)), None)
        for n, one in enumerate(steps)
        if one == step
    ]
    # nothing comes after the last one, in which the rank is
    return len(after) > 1 and set(after[:-1]) == {EventKind.OPTIMIZER_STEP}


def _in_generator(facts: Facts, point: BranchPoint) -> bool:
    """Whether a condition is that of a generator: it decides what a loop gets, and so is how the batch was split."""
    function = enclosing.function_around(facts.program, point.site)
    return function is not None and any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in walk(function))


def _again(facts: Facts, forward: HistoryStep, ranks: RankSet) -> bool:
    """Whether the same ran before in this step: neither a batch was fetched nor weights updated since."""
    history = facts.histories.get(ranks.members[0])
    steps = history.steps if history else ()
    last = next((n for n in reversed(range(len(steps))) if steps[n] == forward), None)
    if last is None:
        return False
    ends = frozenset({*_ROUND, *_FORWARDS, forward.kind})
    earlier = next((n for n in reversed(range(last)) if steps[n].kind in ends), None)
    same = _FORWARDS if forward.kind in _FORWARDS else {forward.kind}
    return earlier is not None and steps[earlier].kind in same and steps[earlier].site == forward.site


def _as_many_batches(facts: Facts, divergence: Divergence) -> bool:
    """Whether all ranks had fetched equally many batches where they parted. With NCCL one side may be a round further
    by now."""
    diff = divergence.diff
    since = [(divergence.odd, diff.left), (divergence.reference, diff.right)]
    given = [
        counters.delivered - sum(step.kind is EventKind.NEXT for step in steps)
        for side, steps in since
        for rank in side
        if (counters := facts.counters(rank))
    ]
    return len(given) == len(divergence.odd) + len(divergence.reference) and len(set(given)) == 1
