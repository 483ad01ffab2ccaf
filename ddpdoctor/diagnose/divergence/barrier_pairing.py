"""Barriers that paired with a barrier from another place, long before the operation in which the ranks hang."""

from __future__ import annotations

import dataclasses

from ddpdoctor.diagnose.digest import histories
from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.digest.operations import is_barrier
from ddpdoctor.diagnose.digest.sides import Comparison
from ddpdoctor.diagnose.divergence.call_conditions import condition_of
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.stacks import Site


def first_pair(facts: Facts, divergence: Divergence) -> tuple[HistoryStep, HistoryStep] | None:
    """The first two barriers that paired although called from different places: the odd ranks' and the others'."""
    left, right = map(facts.histories.get, divergence.compared.pair)
    if left is None or right is None or left.truncated or right.truncated:
        return None
    sides = [[step for step in side if step.collective] for side in histories.shared(left, right)]
    for ours, theirs in zip(*sides, strict=False):
        if ours.site != theirs.site:
            met = is_barrier(ours.op) and is_barrier(theirs.op) and ours.issued == theirs.issued
            return (ours, theirs) if met else None
    return None


def helper_barrier(facts: Facts, divergence: Divergence) -> Divergence | None:
    """The divergence at a surplus barrier that a function shared by several places has made: it paired with one that
    the same line made for another place, which the ranks that have made it come to as well."""
    for compared in (divergence.compared, divergence.compared.mirrored()):
        found = _from_helper(facts, compared)
        if found is not None:
            diff = dataclasses.replace(compared.diff, left=found[:1], right=found[1:])
            return dataclasses.replace(divergence, compared=dataclasses.replace(compared, diff=diff))
    return None


def _from_helper(facts: Facts, compared: Comparison) -> tuple[HistoryStep, HistoryStep] | None:
    """The surplus barrier of the odd ranks, which wait in another one, and what it paired with, at their callers."""
    left, right = map(facts.histories.get, compared.pair)
    waits = compared.odd_next
    if left is None or right is None or left.truncated or right.truncated or waits is None or not is_barrier(waits.op):
        return None
    sides = [[step for step in side if step.collective] for side in histories.shared(left, right)]
    for ours, theirs in zip(*sides, strict=False):
        if ours.issued != theirs.issued or ours.site != theirs.site:
            return None
        mine, other = _callers(facts, ours), _callers(facts, theirs)
        if mine == other:
            continue
        here, there = ({_callers(facts, step) for step in side if step.site == ours.site} for side in sides)
        if not is_barrier(ours.op) or not mine or not other or other not in here or mine in there:
            return None
        return dataclasses.replace(ours, site=mine[0]), dataclasses.replace(theirs, site=other[0])
    return None


def _callers(facts: Facts, step: HistoryStep) -> tuple[Site, ...]:
    """The job's own frames that led to the step's line, innermost first."""
    if step.site not in step.path:
        return ()
    return tuple(frame for frame in step.path[step.path.index(step.site) + 1 :] if not facts.is_library(frame.file))


def extra_barrier(facts: Facts, divergence: Divergence) -> Divergence | None:
    """The divergence at the surplus barrier, if the barrier that the odd ranks hang in has its counterpart.

    `if main: work(); barrier()` and `if not main: barrier()` in one function are two halves of a pair. If the others'
    half has already paired with another barrier of the odd ranks, that other one is the surplus barrier, not the half
    that the odd ranks then wait in.
    """
    pair = first_pair(facts, divergence)
    if (
        pair is None
        or divergence.odd_next is None
        or divergence.odd_next.site is None
        or not is_barrier(divergence.odd_next.op)
    ):
        return None
    ours, theirs = pair
    here = divergence.odd_next.site
    halves = theirs.site is not None and (here.file, here.function) == (theirs.site.file, theirs.site.function)
    if not halves or theirs.site == here or ours.site == here:
        return None
    diff = dataclasses.replace(divergence.diff, left=(ours,), right=(theirs,))
    return dataclasses.replace(divergence, compared=dataclasses.replace(divergence.compared, diff=diff))


def counterpart(facts: Facts, divergence: Divergence) -> HistoryStep | None:
    """The other side's collective that the odd ranks' call was paired with, if the histories show it; else what the
    other side went on to."""
    ours, theirs = divergence.odd_next, divergence.collectives()[1]
    if ours is None or theirs is None or theirs.collective:
        return theirs
    pair = first_pair(facts, divergence)
    return pair[1] if pair is not None and pair[0].site == ours.site else theirs


def skipped_barrier(facts: Facts, divergence: Divergence) -> bool:
    """A barrier of some ranks paired with another barrier of the rest, and all ranks continued, off by one."""
    ours, theirs = divergence.odd_next, counterpart(facts, divergence)
    if ours is None or ours.site is None or theirs is None or theirs.site == ours.site:
        return False
    if not divergence.diff.inserted() or not (is_barrier(ours.op) and is_barrier(theirs.op)):
        return False
    if any(step.collective and step.site == ours.site and not is_barrier(step.op) for step in divergence.diff.left):
        return False  # a library's barrier before the operation that the line asks for
    skipped = len(divergence.reference) < len(divergence.odd)
    return skipped or condition_of(facts, ours.site, divergence.odd, divergence.reference) is None


def may_have_met_another(facts: Facts, divergence: Divergence) -> bool:
    """Whether the odd ranks' call is a barrier that may have returned, paired with a barrier meant for
    another place.
    """
    if divergence.odd_next is None or not is_barrier(divergence.odd_next.op):
        return False
    return divergence.diff.inserted() or first_pair(facts, divergence) is not None
