"""Conditions that test a flag which the handler of a Unix signal sets."""

from __future__ import annotations

from ddpdoctor.diagnose.conditions import depends_on
from ddpdoctor.diagnose.divergence.branch_points import BranchKind, BranchPoint
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.patterns import Pattern
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.dependence import DependsOn


def signal_flag(facts: Facts, divergence: Divergence) -> tuple[BranchPoint, str, str] | None:
    """The condition at which the ranks diverged, if a signal handler sets what it tests: condition, flag, handler."""
    if divergence.pattern not in (Pattern.LEFT_LOOP, Pattern.EXTRA_CALL):
        return None
    if {point.kind for point in divergence.branch_points} != {BranchKind.CONDITION}:
        return None
    for point in divergence.branch_points:
        told = depends_on(facts, point.site)
        if told is not None and told.on is DependsOn.SIGNAL:
            return point, told.flag, told.handler
    return None
