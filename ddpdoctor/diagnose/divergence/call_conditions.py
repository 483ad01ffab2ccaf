"""Conditions in the source under which only some ranks come to a call, or come to this call rather than that."""

from __future__ import annotations

from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.histories import Step
from ddpdoctor.diagnose.divergence.relative_position import outside_torch
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.source_reading import source
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.stacks import Site


def condition_of(facts: Facts, site: Site, actors: RankSet, others: RankSet) -> tuple[Site, source.Span] | None:
    """The condition on the rank under which a call was made: around it, or around a call that led to it.

    Callers are known while the actor still stands there; those that the other ranks stand in too decide nothing.
    """
    code = facts.evidence.code
    stack = outside_torch(facts, actors.members[0])
    shared = set(outside_torch(facts, others.members[0]))
    here = bool(stack) and frames.same_place(stack[0], site)
    path = [site, *(frame for frame in stack[1:] if frame not in shared)] if here else [site]
    found = ((place, source.rank_condition(code, place)) for place in path)
    return next(((place, span) for place, span in found if span), None)


def by_element(facts: Facts, act: Step, instead: Step) -> bool:
    """One loop calls this or that according to its element: the ranks meet the elements in another order."""
    if act.site is None or instead.site is None or act.site.file != instead.site.file:
        return False
    code = facts.evidence.code
    sides = source.branches(code, act.site)
    return sides is not None and instead.site.line in sides[1] and source.asks_element(code, act.site)


def both_ways(facts: Facts, act: Step, instead: Step) -> bool:
    """The calls stand on the two sides of one `if`, and each side has both."""
    if act.site is None or instead.site is None or act.site.file != instead.site.file:
        return False
    code = facts.evidence.code
    sides = source.branches(code, act.site)
    if sides is None or instead.site.line not in sides[1]:
        return False
    wanted = {act.op, instead.op}
    return all(wanted <= source.called_names(code, act.site.file, side) for side in sides)
