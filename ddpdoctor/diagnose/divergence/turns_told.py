"""A loop that some ranks have left, told again by the turns that they took in it: see loop_turns.

The histories alone show that the odd ranks are behind the loop and did one thing fewer in it. A rank that took the turn
in which the others are left its work out; one that did not had a shorter loop, or left it. What nothing but this tells
is `likely` at most: a counter shows how often the loop went round, and not what it did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.digest.sides import Comparison
from ddpdoctor.diagnose.divergence import control_flow_diff, loop_turns
from ddpdoctor.diagnose.divergence.branch_points import BranchKind, BranchPoint
from ddpdoctor.diagnose.divergence.caught_calls import caught_around
from ddpdoctor.diagnose.divergence.cfg_model import EdgeKind
from ddpdoctor.diagnose.divergence.loop_turns import LeftLoop, Turns
from ddpdoctor.diagnose.divergence.periodic_checks import decided_alike
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.stacks import Site

_LOOPS = (BranchKind.DATA, BranchKind.COUNT)
_STEPS = (EventKind.FORWARD, EventKind.FORWARD_NO_SYNC, EventKind.BACKWARD)
_WAYS_PAST = (BranchKind.CONDITION, BranchKind.EXCEPTION)


@dataclass(frozen=True, slots=True)
class TurnsTold:
    """What the turns of a loop show of the ranks that have left it."""

    #: they left out the work of a turn, rather than left the loop before the turn in which the others are
    skipped: bool
    #: the statements that can have done that; empty if the source does not show them, or shows that it was either
    points: tuple[BranchPoint, ...]
    #: the loop's head
    head: Site
    #: None where the source alone shows that the loop has equally many turns on all ranks
    turns: Turns | None

    @property
    def took_it(self) -> bool:
        """Whether the odd ranks took the turn in which the others are, so that the loop's end is no explanation."""
        return self.turns is None or self.turns.fewer <= 0

    def sentence(self, odd: RankSet, reference: RankSet) -> str:
        """What shows it."""
        who, loop = wording.ranks(odd), f"the loop at {wording.place(self.head)}"
        if self.turns is None:
            return f"{loop} has equally many turns on all ranks, by its source"
        parts = [f"{value} on {wording.ranks(ranks)}" for value, ranks in sorted(self.turns.values.items())]
        counted = f"`{self.turns.counter}` is {' and '.join(parts)}"
        others = wording.ranks(reference)
        if self.turns.fewer > 0:
            return f"{counted}: {who} took one turn fewer of {loop} than {others}, and skipped none"
        return f"{counted}: {who} took the turn of {loop} in which {others} {wording.verb(reference, 'is', 'are')}"


def told(facts: Facts, compared: Comparison, points: Sequence[BranchPoint]) -> TurnsTold | None:
    """What the turns show of a loop that the odd ranks left by one of these branch points, None if nothing."""
    left = loop_turns.left_loop(facts, compared)
    if left is None or not _did_less(facts, compared):
        return None
    turns = loop_turns.compared_turns(facts, compared, left)
    if turns is None:
        equal = not points and _equally_long(facts, compared, left)
        return _left_out(facts, compared, left, None) if equal else None
    if turns.fewer > 0:
        return _ended(points, left, turns) if turns.fewer == 1 else None
    inside = tuple(point for point in points if not _between_turns(point, left))
    past = _left_out(facts, compared, left, turns)
    if turns.fewer < 0 or not inside:
        # whatever it was, it was not the loop's end
        return past or TurnsTold(False, (), left.head, turns)
    # it began the same turn as the others: it has left the loop in it, or left out its work and ended with the loop
    own = all(point.kind is BranchKind.CONDITION and point.site in left for point in inside)
    return TurnsTold(False, inside if own and past is None else (), left.head, turns)


def _did_less(facts: Facts, compared: Comparison) -> bool:
    """Whether the ranks' own counts agree: fewer forwards or backwards on the odd ranks, and more of neither. A history
    that has lost its beginning may hide a step without synchronisation, which is none the less a step.
    """
    following = compared.reference_next
    if following is None or following.kind not in _STEPS:
        return True
    ours, theirs = (
        [
            (one.forwards + one.forwards_no_sync, one.backward_entered)
            for rank in side
            if (one := facts.counters(rank)) is not None
        ]
        for side in (compared.odd, compared.reference)
    )
    if len(ours) != len(compared.odd) or len(theirs) != len(compared.reference):
        return False
    least = tuple(map(min, zip(*theirs, strict=True)))
    most = tuple(map(max, zip(*ours, strict=True)))
    return most != least and all(mine <= its for mine, its in zip(most, least, strict=True))


def _left_out(facts: Facts, compared: Comparison, left: LeftLoop, turns: Turns | None) -> TurnsTold | None:
    """The ways past the work of a turn; None if there is none, or one that is neither a condition nor a handler, or if
    the others may have done more instead.
    """
    if _may_have_done_more(facts, compared, left):
        return None
    found = control_flow_diff.past_a_turn(facts, compared, left.head)
    within = tuple(point for point in found if not _ends_generator(point, left)) or caught_around(facts, compared)
    if not within or any(point.kind not in _WAYS_PAST for point in within):
        return None
    return TurnsTold(True, within, left.head, turns)


def _may_have_done_more(facts: Facts, compared: Comparison, left: LeftLoop) -> bool:
    """Whether the reference ranks can have made the step twice in a turn, or, where they are not the majority, in a
    part of their history that is lost.
    """
    histories = (facts.histories.get(rank) for rank in compared.pair)
    lost = any(history is None or history.truncated for history in histories)
    fewer = len(compared.odd) >= len(compared.reference)
    return (fewer and lost) or control_flow_diff.twice_in_a_turn(facts, compared, left.head)


def _ended(points: Sequence[BranchPoint], left: LeftLoop, turns: Turns) -> TurnsTold | None:
    """The loop ended before the turn, and nothing in it that comes before the others' place can have ended it."""
    found = [point for point in points if _between_turns(point, left) or not _leaves_inside(point, left)]
    if len(found) != 1 or found[0].kind not in _LOOPS:
        return None
    # a turn without a trace is no other explanation any more: it would have been counted
    return TurnsTold(False, (replace(found[0], idle=False),), left.head, turns)


def _leaves_inside(point: BranchPoint, left: LeftLoop) -> bool:
    """Whether a condition in the loop leads out of it."""
    return point.kind is BranchKind.CONDITION and point.site in left and point.jump is not None


def _between_turns(point: BranchPoint, left: LeftLoop) -> bool:
    """Whether the loop is left there after the work of one turn and before that of the next: at its head, or by a jump
    after the others' place.
    """
    place = point.jump or point.site
    if point.site not in left:
        return point.kind in _LOOPS  # of the generator that it goes over
    return point.site.line == left.head.line or (place in left and place.line > left.at.line)


def _ends_generator(point: BranchPoint, left: LeftLoop) -> bool:
    """Whether it is the end of the generator that the loop goes over: no way to another turn."""
    return point.kind in _LOOPS and point.taken is EdgeKind.END and point.site not in left


def _equally_long(facts: Facts, compared: Comparison, left: LeftLoop) -> bool:
    """Whether the source alone shows that all ranks make equally many turns: nothing but loops that do ends it."""
    ends = control_flow_diff.ends(facts, compared)
    return bool(ends) and all(
        point.kind in _LOOPS
        and point.taken is EdgeKind.END
        and decided_alike(facts, point.site)
        and (point.site.line == left.head.line or loop_turns.goes_over(facts, left, point.site))
        for point in ends
    )
