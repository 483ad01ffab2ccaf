"""Batches that were lost in an exception of the data loader: the iterator raised, somebody caught it and went on."""

from __future__ import annotations

import functools

from ddpdoctor.diagnose.divergence.patterns import Shape, Story
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site


@functools.lru_cache(maxsize=64)
def loader_raised(facts: Facts, story: Story) -> Site | None:
    """The loader that raised on the actors, which went on a batch short: by its end, or out of the loop at once.

    Not where the exception is still under way: then nobody has caught it.
    """
    found = {rank: _failed_loaders(facts, rank) for rank in (*story.actors, *story.others)}
    if story.act is None or any(failure.rank in story.actors for failure in facts.masked):
        return None
    ours = [found[rank] for rank in story.actors]
    for loader in ours[0]:
        more = min(loaders.count(loader) for loaders in ours) > max(found[rank].count(loader) for rank in story.others)
        ended = story.shape is Shape.ENDED_EARLY and story.act.site == loader
        if more and (ended or (story.shape is Shape.LEFT_LOOP and _last_of_data(facts, story))):
            return loader
    return None


def _failed_loaders(facts: Facts, rank: Rank) -> list[Site]:
    history = facts.histories.get(rank)
    return [s.site for s in history.steps if s.kind is EventKind.NEXT_RAISED and s.site] if history else []


def _last_of_data(facts: Facts, story: Story) -> bool:
    """The last that the actors had of any loader was its exception."""
    kinds = (EventKind.NEXT, EventKind.STOP_ITERATION, EventKind.NEXT_RAISED)
    histories = [facts.histories[rank] for rank in story.actors if rank in facts.histories]
    last = [next((s.kind for s in reversed(h.steps) if s.kind in kinds), None) for h in histories]
    return set(last) == {EventKind.NEXT_RAISED}
