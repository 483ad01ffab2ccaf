"""Collectives that the program issues in its own backward: on which ranks the same backward returned without one."""

from __future__ import annotations

from dataclasses import dataclass

from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.relative_position import made_by
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.progress import Counters, EventKind
from ddpdoctor.model.ranks import RankSet


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
        if _same_backward(facts, returned, inside):
            return SmallerGraph(returned, inside, call)
    return None


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
