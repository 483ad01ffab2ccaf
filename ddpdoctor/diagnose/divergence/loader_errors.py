"""Batches lost in an exception of the data loader: the iterator raised, and the program caught it and continued."""

from __future__ import annotations

from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.patterns import Pattern
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site


def loader_raised(facts: Facts, divergence: Divergence) -> Site | None:
    """The loader that raised on the odd ranks, which continued one batch short or left the loop at once.

    Not if the exception is still propagating: then nothing has caught it.
    """
    found = {rank: _failed_loaders(facts, rank) for rank in (*divergence.odd, *divergence.reference)}
    if divergence.odd_next is None or any(failure.rank in divergence.odd for failure in facts.masked):
        return None
    ours = [found[rank] for rank in divergence.odd]
    for loader in ours[0]:
        more = min(loaders.count(loader) for loaders in ours) > max(
            found[rank].count(loader) for rank in divergence.reference
        )
        ended = divergence.pattern is Pattern.ENDED_EARLY and divergence.odd_next.site == loader
        if more and (ended or (divergence.pattern is Pattern.LEFT_LOOP and _last_of_data(facts, divergence))):
            return loader
    return None


def _failed_loaders(facts: Facts, rank: Rank) -> list[Site]:
    history = facts.histories.get(rank)
    return [s.site for s in history.steps if s.kind is EventKind.NEXT_RAISED and s.site] if history else []


def _last_of_data(facts: Facts, divergence: Divergence) -> bool:
    """Whether the odd ranks' last event of any loader was its exception."""
    kinds = (EventKind.NEXT, EventKind.STOP_ITERATION, EventKind.NEXT_RAISED)
    histories = [facts.histories[rank] for rank in divergence.odd if rank in facts.histories]
    last = [next((s.kind for s in reversed(h.steps) if s.kind in kinds), None) for h in histories]
    return set(last) == {EventKind.NEXT_RAISED}
