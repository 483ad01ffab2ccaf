"""Forwards that reduce gradients, counted: accumulation that is out of step shows in no single event.

Where windows of accumulation end at different micro-batches, the ranks' histories differ all the time and agree again.
What remains is that one side has come as far and has reduced less often. Its windows are then compared with later ones
of the others, so that its data may seem to end early, although it received as many batches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.divergence import batch_counts
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.patterns import Pattern
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.progress import Counters, EventKind
from ddpdoctor.model.ranks import RankSet

#: patterns that say no more than that one side went on
_OPEN = frozenset({Pattern.LEFT_LOOP, Pattern.UNCLEAR})


@dataclass(frozen=True, slots=True)
class Fewer:
    """Ranks that reduced less often in as many forwards, as the odd side of the divergence."""

    divergence: Divergence
    #: the last of their forwards that was not synchronised
    forward: HistoryStep


def fewer(facts: Facts, divergence: Divergence) -> Fewer | None:
    """The side that has made at least as many forwards as the other, and synchronised fewer; None if there is none."""
    if divergence.pattern not in _OPEN and not batch_counts.ended_alike(facts, divergence):
        return None
    for side in (divergence, replace(divergence, compared=divergence.compared.mirrored())):
        mine, theirs = _counts(facts, side.odd), _counts(facts, side.reference)
        if not mine or not theirs or not all(c.forwards_no_sync for c in (*mine, *theirs)):
            continue
        as_far = min(_made(c) for c in mine) >= max(_made(c) for c in theirs)
        less = max(c.forwards for c in mine) < min(c.forwards for c in theirs)
        forward = _last(facts, side.odd) if as_far and less else None
        if forward is not None:
            return Fewer(side, forward)
    return None


def _counts(facts: Facts, ranks: RankSet) -> list[Counters]:
    """The counters of all of these ranks; empty if some are not known."""
    found = [counters for rank in ranks if (counters := facts.counters(rank))]
    return found if len(found) == len(ranks) else []


def _made(counters: Counters) -> int:
    return counters.forwards + counters.forwards_no_sync


def _last(facts: Facts, ranks: RankSet) -> HistoryStep | None:
    steps = facts.histories[ranks.members[0]].steps if ranks.members[0] in facts.histories else ()
    return next((step for step in reversed(steps) if step.kind is EventKind.FORWARD_NO_SYNC), None)
