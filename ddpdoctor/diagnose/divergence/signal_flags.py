"""Conditions that ask a flag which the handler of a Unix signal sets."""

from __future__ import annotations

from ddpdoctor.diagnose.divergence.branch_points import BranchKind, BranchPoint
from ddpdoctor.diagnose.divergence.patterns import Divergence, Pattern
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.source_reading import signal_handlers


def signal_choice(facts: Facts, divergence: Divergence) -> tuple[BranchPoint, str, str] | None:
    """The condition that parted the ranks, if a signal's handler sets what it asks: it, the flag, the handler."""
    if divergence.pattern not in (Pattern.LEFT_LOOP, Pattern.EXTRA_CALL):
        return None
    if {point.kind for point in divergence.branch_points} != {BranchKind.CONDITION}:
        return None
    for point in divergence.branch_points:
        flags = signal_handlers.set_by_handlers(facts.program, point.site.file)
        asked = sorted(signal_handlers.names_on(facts.program, point.site) & flags.keys())
        if asked:
            return point, asked[0], flags[asked[0]]
    return None
