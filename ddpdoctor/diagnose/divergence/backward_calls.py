"""Collectives that the program issues in its own backward: on which ranks the same backward returned without one."""

from __future__ import annotations

from dataclasses import dataclass

from ddpdoctor.diagnose.digest import operations
from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.relative_position import made_by
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.progress import Counters, EventKind
from ddpdoctor.model.ranks import Rank, RankSet


@dataclass(frozen=True, slots=True)
class SmallerGraph:
    """Ranks whose backward returned, and the call in the same backward in which the others are."""

    returned: RankSet
    inside: RankSet
    call: HistoryStep


def smaller_graph(facts: Facts, divergence: Divergence) -> SmallerGraph | None:
    """Whether one side's backward returned without a call that it has made in earlier ones."""
    sides = (
        (divergence.odd, divergence.reference, divergence.reference_next),
        (divergence.reference, divergence.odd, divergence.odd_next),
    )
    for returned, inside, call in sides:
        if call is None or call.kind is not EventKind.CALL or not made_by(facts, call, returned):
            continue
        if _in_backward(facts, inside, call) and _same_backward(facts, returned, inside):
            return SmallerGraph(returned, inside, call)
    return None


def _in_backward(facts: Facts, inside: RankSet, call: HistoryStep) -> bool:
    """Whether the ranks made the call after they had begun their last backward. Where calls return before the device
    is done (NCCL), a rank may be in a backward and have made it in the forward before."""
    histories = [history.steps for rank in inside if (history := facts.histories.get(rank))]
    return all(call in steps[_last_backward(steps) :] for steps in histories)


def _last_backward(steps: tuple[HistoryStep, ...]) -> int:
    return next((n for n in reversed(range(len(steps))) if steps[n].kind is EventKind.BACKWARD), 0)


def _same_backward(facts: Facts, returned: RankSet, inside: RankSet) -> bool:
    """Whether all ranks have begun equally many backwards, and these ranks have left the last one, those have not."""
    ours = [counters for rank in returned if (counters := facts.counters(rank))]
    theirs = [counters for rank in inside if (counters := facts.counters(rank))]
    whole = len(ours) == len(returned) and len(theirs) == len(inside)
    begun = {_begun(counters) for counters in (*ours, *theirs)}
    left = all(one.backward_left == one.backward_entered for one in ours)
    return whole and left and len(begun) == 1 and all(one.backward_left == one.backward_entered - 1 for one in theirs)


def _begun(counters: Counters) -> tuple[int, ...]:
    return counters.forwards, counters.forwards_no_sync, counters.backward_entered


@dataclass(frozen=True, slots=True)
class FewerReductions:
    """Ranks that did the same as the others, and whose last collective has a lower number."""

    fewer: RankSet
    more: RankSet
    #: the last collective that all called
    last: HistoryStep
    #: its number in the group on the one side and on the other
    number: int
    expected: int


def fewer_reductions(facts: Facts) -> FewerReductions | None:
    """Whether some ranks' backwards reduced less: all did the same calls, forwards and backwards, all of them over, and
    the recorders have numbered the last call differently. Only DDP's reducer makes collectives that no history shows.
    """
    ends = {rank: _end(facts, rank) for rank in facts.histories}
    if len(ends) != len(facts.states) or None in ends.values() or facts.splits:
        return None
    whole = {rank: end for rank, end in ends.items() if end is not None}
    numbers = sorted({end.number for end in whole.values()})
    alike = len({(end.last, end.done) for end in whole.values()}) == 1
    if not alike or len(numbers) != 2:
        return None
    fewer, more = (RankSet.of(rank for rank, end in whole.items() if end.number == number) for number in numbers)
    return FewerReductions(fewer, more, next(iter(whole.values())).last, *numbers)


@dataclass(frozen=True, slots=True)
class _End:
    """Where a rank stands: what it has done, its last collective, and that one's number in its group."""

    done: tuple[int, ...]
    last: HistoryStep
    number: int


def _end(facts: Facts, rank: Rank) -> _End | None:
    """None where it is not known, or where a backward is not over."""
    counters, recorder, history = facts.counters(rank), facts.rank(rank).recorder, facts.histories[rank]
    last = history.steps[-1] if history.steps else None
    if counters is None or recorder is None or last is None or last.kind is not EventKind.CALL or last.group is None:
        return None
    newest = recorder.last(last.group[0])
    over = counters.backward_left == counters.backward_entered > 0
    if newest is None or not over or not operations.belongs(newest, last.op):
        return None
    batches = tuple(loader.delivered for loader in counters.loaders)
    return _End((*_begun(counters), counters.optimizer_steps, *batches), last, newest.seq)
