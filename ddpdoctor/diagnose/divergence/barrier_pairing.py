"""Barriers that met another barrier than was meant, long before the operation in which the ranks hang."""

from __future__ import annotations

import dataclasses

from ddpdoctor.diagnose.digest import histories
from ddpdoctor.diagnose.digest.histories import Step
from ddpdoctor.diagnose.divergence.patterns import Story
from ddpdoctor.diagnose.facts import Facts


def first_pair(facts: Facts, story: Story) -> tuple[Step, Step] | None:
    """The first two barriers that met from different places: the actors' and the others'."""
    left, right = facts.histories.get(story.actors.members[0]), facts.histories.get(story.others.members[0])
    if left is None or right is None or left.truncated or right.truncated:
        return None
    sides = [[step for step in side if step.collective] for side in histories.shared(left, right)]
    for ours, theirs in zip(*sides, strict=False):
        if ours.site != theirs.site:
            met = "barrier" in ours.op and "barrier" in theirs.op and ours.issued == theirs.issued
            return (ours, theirs) if met else None
    return None


def extra_barrier(facts: Facts, story: Story) -> Story | None:
    """The story of the barrier that was too much, where the one that the actors hang in has its own counterpart.

    `if main: work(); barrier()` and `if not main: barrier()` in one function are two halves of a pair. If the others'
    half has met another barrier of the actors, that one was too much, and not the half that they then wait in.
    """
    pair = first_pair(facts, story)
    if pair is None or story.act is None or story.act.site is None or "barrier" not in story.act.op:
        return None
    ours, theirs = pair
    here = story.act.site
    halves = theirs.site is not None and (here.file, here.function) == (theirs.site.file, theirs.site.function)
    if not halves or theirs.site == here or ours.site == here:
        return None
    parting = dataclasses.replace(story.parting, left=(ours,), right=(theirs,))
    return dataclasses.replace(story, parting=parting)
