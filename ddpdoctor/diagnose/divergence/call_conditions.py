"""Conditions in the source under which only some ranks reach a call, or reach this call rather than another."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.diagnose.conditions import RankCondition, own_conditions, rank_condition, wrapper_condition
from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.divergence.branch_points import BranchKind, BranchPoint
from ddpdoctor.diagnose.divergence.cfg_model import EdgeKind
from ddpdoctor.diagnose.divergence.relative_position import outside_torch
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing


def condition_of(facts: Facts, site: Site, odd: RankSet, reference: RankSet) -> RankCondition | None:
    """The condition on the rank under which a call was made: around the call, or around a call that led to it.

    Callers are known while the odd rank is still in the call; callers that the other ranks are in too decide nothing.
    """
    called = None
    for place, callers in _led(facts, site, odd, reference):
        # of a library only what it wraps around a function of the job: what else it asks of the rank is its own affair
        wraps = called is not None and not facts.is_library(called.file)
        found = (wrapper_condition if wraps else rank_condition)(facts, place, callers, odd, reference)
        if found:
            return found
        called = place
    return None


def decided_by(facts: Facts, site: Site, odd: RankSet, reference: RankSet, *, both: bool) -> tuple[BranchPoint, ...]:
    """The conditions on a rank's own values under which a call was made, where no way through the source shows them.

    Such a way ends where a framework calls the program back. They are those nearest to the call. `both`: whether both
    sides have made the call before, so that no condition on the rank alone decides.
    """
    for place, callers in _led(facts, site, odd, reference):
        found = own_conditions(facts, place, callers, unknown=both)
        if found:
            return tuple(
                BranchPoint(
                    BranchKind.CONDITION,
                    EdgeKind.YES if condition.side else EdgeKind.NO,
                    replace(place, line=condition.line),
                    facts.program.statement_text(condition.file, condition.line),
                )
                for condition in reversed(found)
            )
    return ()


def _led(facts: Facts, site: Site, odd: RankSet, reference: RankSet) -> list[tuple[Site, tuple[Site, ...]]]:
    """The line of a call, and the lines that led to it as far as the other ranks are not in them, with
    their callers.
    """
    shared = set(outside_torch(facts, reference.members[0]))
    callers = _callers(facts, site, odd.members[0])
    return [(site, callers), *((frame, callers[n + 1 :]) for n, frame in enumerate(callers) if frame not in shared)]


def _callers(facts: Facts, site: Site, rank: Rank) -> tuple[Site, ...]:
    """The frames that led to a line: from the stack while the rank is in it, else as its history recorded them."""
    history = facts.histories.get(rank)
    recorded = next((s.path for s in reversed(history.steps if history else ()) if s.site == site and s.path), ())
    for path in (outside_torch(facts, rank), recorded):
        inner = next((n for n, frame in enumerate(path) if frames.same_place(frame, site)), None)
        if inner is not None:
            return path[inner + 1 :]
    return ()


def by_element(facts: Facts, odd_next: HistoryStep, reference_next: HistoryStep) -> bool:
    """Whether one loop makes different calls depending on its element, so ranks see the elements in
    different orders.
    """
    if odd_next.site is None or reference_next.site is None or odd_next.site.file != reference_next.site.file:
        return False
    sides = enclosing.branches(facts.program, odd_next.site)
    return (
        sides is not None
        and reference_next.site.line in sides[1]
        and enclosing.asks_element(facts.program, odd_next.site)
    )


def both_ways(facts: Facts, odd_next: HistoryStep, reference_next: HistoryStep) -> bool:
    """Whether the calls are on the two sides of one `if`, and each side makes both."""
    if odd_next.site is None or reference_next.site is None or odd_next.site.file != reference_next.site.file:
        return False
    sides = enclosing.branches(facts.program, odd_next.site)
    if sides is None or reference_next.site.line not in sides[1]:
        return False
    wanted = {odd_next.op, reference_next.op}
    return all(wanted <= enclosing.called_names(facts.program, odd_next.site.file, side) for side in sides)
