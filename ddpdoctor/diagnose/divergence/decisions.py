"""What decided a divergence: conditions on the rank, conditions that a rank decides by itself, exceptions."""

from __future__ import annotations

from pathlib import PurePath

from ddpdoctor.diagnose.conditions import RankCondition, condition_at, depends_on, sentence, test_of
from ddpdoctor.diagnose.divergence import caught_calls, control_flow_diff
from ddpdoctor.diagnose.divergence.branch_points import BranchKind
from ddpdoctor.diagnose.divergence.call_conditions import condition_of
from ddpdoctor.diagnose.divergence.cfg_model import EdgeKind
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.patterns import Pattern
from ddpdoctor.diagnose.divergence.periodic_checks import periodic
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.stacks import Site


def condition_on_rank(facts: Facts, divergence: Divergence) -> RankCondition | None:
    """The condition on the rank under which the odd ranks made their call, whether or not they are still in it.

    If no stack shows the callers any more, the only possible branch point may be such a condition.
    """
    if divergence.odd_next is None or divergence.odd_next.site is None:
        return None
    found = condition_of(facts, divergence.odd_next.site, divergence.odd, divergence.reference)
    if found is None and len(divergence.branch_points) == 1 and divergence.branch_points[0].enters:
        point = divergence.branch_points[0]
        side = point.taken is EdgeKind.YES
        found = condition_at(facts, point.site, side, divergence.odd, divergence.reference)
    return found


def parted_by(facts: Facts, divergence: Divergence) -> tuple[str, ...]:
    """The branch points in words for the report, or why none can be shown."""
    changed = control_flow_diff.unreadable(facts, divergence.compared)
    if changed:
        return (
            f"{PurePath(changed).name} was changed after the job started, so it is not used to find where the ranks "
            "diverged",
        )
    points = tuple(
        point
        for point in divergence.branch_points
        if point.kind is not BranchKind.CONDITION or _can_divide(facts, point.site)
    )
    conditions = [point for point in points if point.kind is BranchKind.CONDITION]
    origins = (sentence(test_of(point.text), depends_on(facts, point.site)) for point in conditions)
    turns = divergence.turns
    return (
        *((turns.sentence(divergence.odd, divergence.reference),) if turns else ()),
        *control_flow_diff.sentences(points, divergence.odd, divergence.reference),
        *dict.fromkeys(filter(None, origins)),
    )


def decided_alone(facts: Facts, divergence: Divergence) -> bool:
    """Whether the odd ranks' extra call is under a condition that does not depend on the rank, and can differ."""
    if divergence.pattern is not Pattern.EXTRA_CALL or not divergence.branch_points:
        return False
    conditions = all(point.kind is BranchKind.CONDITION for point in divergence.branch_points)
    own = any(_can_divide(facts, point.site) for point in divergence.branch_points)
    return conditions and own and condition_on_rank(facts, divergence) is None


def _can_divide(facts: Facts, condition: Site) -> bool:
    """Whether a condition can have divided the ranks. One that holds every so many rounds holds on all alike: if ranks
    part there, they do not run the same, or do not count the same.
    """
    return not periodic(facts, condition)


def only_an_exception(divergence: Divergence) -> bool:
    """Whether only a caught exception leads past the skipped work, or out of the loop."""
    shapes = (Pattern.SKIPPED, Pattern.LEFT_LOOP)
    return divergence.pattern in shapes and {point.kind for point in divergence.branch_points} == {BranchKind.EXCEPTION}


def perhaps_an_exception(divergence: Divergence) -> bool:
    """Whether a condition and an exception both lead past the skipped work: the evidence does not tell which it was."""
    kinds = {point.kind for point in divergence.branch_points}
    return divergence.pattern is Pattern.SKIPPED and BranchKind.EXCEPTION in kinds and len(kinds) > 1


def perhaps_caught_in_loop(facts: Facts, divergence: Divergence) -> Site | None:
    """The handler by which the odd ranks may have left out a turn of a loop, where they have come to its end and
    nothing counts its turns; then their data may as well have ended first. None if there are several ways past."""
    if divergence.pattern is not Pattern.LEFT_LOOP or divergence.turns is not None:
        return None
    points = divergence.branch_points
    ends = len(points) == 1 and points[0].kind in (BranchKind.DATA, BranchKind.COUNT)
    return caught_calls.only_caught(facts, divergence.compared, points[0].site) if ends else None
