"""The pattern of a divergence: how two histories differ, by the steps in which they do, without the reason."""

from __future__ import annotations

import itertools
from enum import Enum

from ddpdoctor.diagnose.digest import histories
from ddpdoctor.diagnose.digest.histories import RUN, History, HistoryStep
from ddpdoctor.diagnose.digest.sides import Comparison
from ddpdoctor.diagnose.divergence import control_flow_diff, library_paths, once_a_round
from ddpdoctor.diagnose.divergence.branch_points import BranchKind, BranchPoint
from ddpdoctor.diagnose.divergence.call_conditions import both_ways, by_element, condition_of
from ddpdoctor.diagnose.divergence.caught_calls import caught_around
from ddpdoctor.diagnose.divergence.cfg_model import EdgeKind
from ddpdoctor.diagnose.divergence.habits import left_out
from ddpdoctor.diagnose.divergence.periodic_checks import decided_alike
from ddpdoctor.diagnose.divergence.relative_position import (
    RelativePosition,
    awaited_block,
    is_forward,
    left_loop,
    made_by,
    ran_module,
    shares_loop,
)
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Outcome
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing

_ITERATION = frozenset({EventKind.NEXT, EventKind.FORWARD, EventKind.FORWARD_NO_SYNC, EventKind.BACKWARD})
_FORWARDS = frozenset({EventKind.FORWARD, EventKind.FORWARD_NO_SYNC})
_NEW_ROUND = frozenset({EventKind.NEXT, EventKind.STOP_ITERATION, EventKind.FORWARD})


class Pattern(Enum):
    #: the odd ranks' iterator ended where the others' delivered another batch
    ENDED_EARLY = "ended early"
    #: the odd ranks continued after the loop, without the end of their iterator
    LEFT_LOOP = "left the loop"
    #: the odd ranks began another iteration without what the others did in this one
    SKIPPED = "skipped"
    #: the odd ranks issued a collective that the others did not
    EXTRA_CALL = "extra call"
    #: both issue the same kinds of calls in another order
    ORDER = "order"
    #: the odd ranks ran a forward through the wrapper that the others did not; it synchronises buffers
    EXTRA_FORWARD = "extra forward"
    #: the odd ranks ran the step under no_sync
    NO_SYNC = "no_sync"
    UNCLEAR = "unclear"


def caught_past(facts: Facts, compared: Comparison) -> tuple[BranchPoint, ...]:
    """The handler by which the odd ranks left out what the others do, if the conditions on the way hold on all ranks
    alike or not at all: the paths alone do not show it, since after it the odd ranks go round as the others do.
    """
    points = control_flow_diff.branch_points(facts, compared)
    if not points or not all(decided_alike(facts, point.site) for point in points):
        return ()
    return caught_around(facts, compared)


def pattern_of(facts: Facts, compared: Comparison) -> Pattern:
    """The pattern of two sides, by the next step of each and by what the source says of it."""
    odd_next, reference_next, diff = compared.odd_next, compared.reference_next, compared.diff
    if odd_next is None:
        return Pattern.UNCLEAR
    if reference_next is not None and (known := _of_both(facts, compared, odd_next, reference_next)):
        return known
    if _forwards_alone(facts, odd_next, compared.reference):
        return Pattern.EXTRA_FORWARD
    behind = merely_behind(facts, compared)
    if odd_next.kind is not EventKind.CALL or behind:
        return _told(facts, compared, behind=behind)
    if diff.inserted():
        inner = reference_next is not None and control_flow_diff.ended_inner_loop(facts, compared)
        return Pattern.LEFT_LOOP if inner else Pattern.EXTRA_CALL
    if reference_next is None or diff.mirrored().inserted():
        return Pattern.UNCLEAR
    if reference_next.kind in _ITERATION or reference_next.kind is EventKind.OPTIMIZER_STEP:
        return _call_against_round(facts, compared, odd_next, reference_next)
    if reference_next.kind is EventKind.CALL:
        return _call_against_call(facts, compared, odd_next, reference_next)
    # the loop of the others ended; that alone says nothing of this call, but a condition on the way to it does
    points = control_flow_diff.branch_points(facts, compared)
    entered = len(points) == 1 and points[0].enters
    return Pattern.EXTRA_CALL if entered or only_on_some_ranks(facts, compared, odd_next) else Pattern.UNCLEAR


def _told(facts: Facts, compared: Comparison, *, behind: bool) -> Pattern:
    """Whether the odd ranks entered a branch of a library by what the job's own lines told it, and by nothing else: an
    evaluation, whose batches say no more than those of the training."""
    points = () if behind else control_flow_diff.branch_points(facts, compared)
    entered = bool(points) and all(point.enters and point.sets for point in points)
    return Pattern.EXTRA_CALL if entered else Pattern.UNCLEAR


def _of_both(facts: Facts, compared: Comparison, odd_next: HistoryStep, reference_next: HistoryStep) -> Pattern | None:
    """Patterns that both sides' next steps show together."""
    if once_a_round.comes_early(facts, compared):
        return Pattern.ORDER
    if known := _round_pattern(facts, compared, odd_next, reference_next):
        return known
    if _passed_over(facts, compared, odd_next, reference_next):
        return Pattern.SKIPPED
    return Pattern.ORDER if dispatched(facts, compared, odd_next, reference_next) else None


def merely_behind(facts: Facts, compared: Comparison) -> bool:
    """Whether one side's operations are the beginning of the other's, and nothing shows that they do not match."""
    return compared.diff.behind and not compared.diff.rejoined and not _met_wrongly(facts, compared)


def _met_wrongly(facts: Facts, compared: Comparison) -> bool:
    """Whether operations that do not match have met, so that no rank is merely behind.

    Both sides wait in them; or their sizes were unequal and gloo ended a rank.
    """
    waits = [wait for rank in compared.reference if (wait := facts.wait(rank)) is not None]
    if any(set(wait.mismatched) & set(compared.odd) and wait.rank in facts.graph.stuck for wait in waits):
        return True
    own = [failure for failure in facts.failures if not failure.victim]
    return facts.outcome is Outcome.CRASH and bool(own) and own[0].amid_mismatch


def _forwards_alone(facts: Facts, odd_next: HistoryStep, reference: RankSet) -> bool:
    """Whether the odd ranks' forward, from a place that the others never reached, broadcasts buffers."""
    return odd_next.kind is EventKind.FORWARD and odd_next.collective and not made_by(facts, odd_next, reference)


def _round_pattern(
    facts: Facts, compared: Comparison, odd_next: HistoryStep, reference_next: HistoryStep
) -> Pattern | None:
    """Patterns that follow from the kinds of the next events alone."""
    before = compared.before
    if (
        odd_next.kind is EventKind.STOP_ITERATION
        and reference_next.kind is EventKind.NEXT
        and odd_next.site == reference_next.site
    ):
        return Pattern.ENDED_EARLY
    if _unsynchronised(odd_next, reference_next):
        return Pattern.NO_SYNC
    if _short_circuited(facts, compared):
        return Pattern.LEFT_LOOP
    in_round = before is not None and before.kind in (EventKind.NEXT, EventKind.FORWARD, EventKind.CALL)
    if reference_next.kind is EventKind.BACKWARD and in_round and _goes_on(facts, compared, odd_next):
        return Pattern.SKIPPED
    if reference_next.kind in _FORWARDS and before and before.kind is EventKind.NEXT:
        elsewhere = odd_next.kind not in _FORWARDS and _goes_on(facts, compared, odd_next)
        return Pattern.SKIPPED if elsewhere else None
    return None


def _short_circuited(facts: Facts, compared: Comparison) -> bool:
    """Whether the odd ranks left out a call that stands behind an `or` or `and`, and nothing else can have led them
    on."""
    if compared.reference_next is None or compared.reference_next.kind is not EventKind.CALL:
        return False
    points = control_flow_diff.branch_points(facts, compared)
    return bool(points) and all(one.kind is BranchKind.CONDITION and one.taken is EdgeKind.ON for one in points)


def _unsynchronised(odd_next: HistoryStep, reference_next: HistoryStep) -> bool:
    """Whether both do the same, and only the reference ranks average gradients."""
    if odd_next.kind is EventKind.FORWARD_NO_SYNC:
        return reference_next.kind is EventKind.FORWARD
    same = odd_next.kind is reference_next.kind is EventKind.BACKWARD and odd_next.site == reference_next.site
    return same and reference_next.collective and not odd_next.collective


def _passed_over(facts: Facts, compared: Comparison, odd_next: HistoryStep, reference_next: HistoryStep) -> bool:
    sides = (odd_next, reference_next)
    if _raised_past(facts, compared, *sides) or _left_out_backward(facts, compared, *sides):
        return True
    return odd_next.kind is EventKind.CALL and bool(caught_past(facts, compared))


def dispatched(facts: Facts, compared: Comparison, odd_next: HistoryStep, reference_next: HistoryStep) -> bool:
    """Whether one line in a loop calls both functions (hooks, a registry), and both sides have run both before.

    What the loop goes over is then in another order, or lacks one for this time; what was there before is rarely gone.
    """
    if {odd_next.kind, reference_next.kind} != {EventKind.CALL} or odd_next.site == reference_next.site:
        return False
    made_in = {(step.site.file, step.site.plain_function) for step in (odd_next, reference_next) if step.site}
    ours, theirs = _dispatcher(odd_next), _dispatcher(reference_next)
    if len(made_in) < 2:
        return False  # one function that makes both has an order of its own
    if ours is None or ours != theirs or enclosing.enclosing_loop(facts.program, ours) is None:
        return False
    return made_by(facts, odd_next, compared.reference) and made_by(facts, reference_next, compared.odd)


def _dispatcher(step: HistoryStep) -> Site | None:
    """The line that called the function which made the call."""
    callers = itertools.dropwhile(lambda frame: frame != step.site, step.path)
    return next(itertools.islice(callers, 1, None), None)


def _goes_on(facts: Facts, compared: Comparison, step: HistoryStep) -> bool:
    """Whether the step belongs to the next round, or to what comes after the reference ranks' step in every round.

    The second is believed only if the source shows a way to it.
    """
    if step.kind in _NEW_ROUND:
        return True
    return _begins_round(facts, compared, step) and bool(control_flow_diff.branch_points(facts, compared))


def _begins_round(facts: Facts, compared: Comparison, step: HistoryStep) -> bool:
    """Whether the odd ranks' step begins a round, or came after the reference ranks' step in an earlier round of
    theirs: a loop need not begin with a batch."""
    history = facts.histories.get(compared.pair[1])
    return step.kind in _NEW_ROUND or (history is not None and _follows(history, compared.reference_next, step))


def _follows(history: History, left_out: HistoryStep | None, step: HistoryStep) -> bool:
    """Whether in an earlier round the step came after that forward or backward, before the next batch or forward, and
    on the same way: one that comes on another way may come before it."""
    waits = False
    for one in history.steps:
        if waits and one == step and one.path == step.path:
            return True
        waits = one == left_out or (waits and one.kind not in _NEW_ROUND)
    return False


def _raised_past(facts: Facts, compared: Comparison, odd_next: HistoryStep, reference_next: HistoryStep) -> bool:
    """Whether the odd ranks' loop skipped a call of the others, or they repeated their last call, by an exception.

    That is: only an exception leads there.
    """
    again = odd_next.kind is EventKind.CALL and odd_next == compared.before and odd_next != reference_next
    if not (again or odd_next.kind in _NEW_ROUND) or reference_next.kind is not EventKind.CALL:
        return False
    points = control_flow_diff.branch_points(facts, compared)
    return bool(points) and all(point.kind is BranchKind.EXCEPTION for point in points)


def raised_past_a_call_of_most(facts: Facts, compared: Comparison) -> bool:
    """Whether most ranks made the call, and only an exception leads the others past it: by the ways through the source,
    or, where these are not connected, since nothing but a handler lies between."""
    other = compared.mirrored()
    mine, theirs = other.odd_next, other.reference_next
    if len(other.odd) >= len(other.reference) or mine is None or theirs is None:
        return False
    if control_flow_diff.branch_points(facts, other):
        return _raised_past(facts, other, mine, theirs)
    return _begins_round(facts, other, mine) and made_by(facts, theirs, other.odd) and bool(caught_around(facts, other))


def _left_out_backward(facts: Facts, compared: Comparison, odd_next: HistoryStep, reference_next: HistoryStep) -> bool:
    """Whether a condition led the odd ranks past one of several backwards of a step, into the one that comes after."""
    if {odd_next.kind, reference_next.kind} != {EventKind.BACKWARD} or odd_next.site == reference_next.site:
        return False
    usual = made_by(facts, odd_next, compared.reference) and made_by(facts, reference_next, compared.odd)
    back, on = control_flow_diff.leads_on(facts, compared), control_flow_diff.leads_on(facts, compared.mirrored())
    return usual and on and not back and bool(control_flow_diff.branch_points(facts, compared))


def _call_against_round(
    facts: Facts, compared: Comparison, odd_next: HistoryStep, reference_next: HistoryStep
) -> Pattern:
    """One side is in a collective call where the other continues with its loop."""
    known = made_by(facts, odd_next, compared.reference)
    if _forwards_alone(facts, reference_next, compared.odd):
        return Pattern.UNCLEAR  # decided from the other side
    if only_on_some_ranks(facts, compared, odd_next):
        return Pattern.EXTRA_CALL
    if known and (ran_module(compared.before, odd_next, reference_next) or left_out(facts, compared)):
        return Pattern.EXTRA_CALL
    points = control_flow_diff.branch_points(facts, compared)
    if points and all(point.enters for point in points):
        return Pattern.EXTRA_CALL
    where = left_loop(facts, compared)[0]
    if where is RelativePosition.INSIDE and not known:
        return Pattern.EXTRA_CALL
    left = where is RelativePosition.OUTSIDE or known or bool(points)
    return Pattern.LEFT_LOOP if left else Pattern.UNCLEAR


def _call_against_call(
    facts: Facts, compared: Comparison, odd_next: HistoryStep, reference_next: HistoryStep
) -> Pattern:
    """Both sides are in collective calls, but not in the same."""
    if awaited_block(facts, reference_next, odd_next):
        return Pattern.EXTRA_CALL
    odd, reference = compared.odd, compared.reference
    ours, theirs = made_by(facts, odd_next, reference), made_by(facts, reference_next, odd)
    if ours and theirs:
        return _both_known(facts, compared)
    if by_element(facts, odd_next, reference_next):
        return Pattern.ORDER
    if odd_next.site is None or reference_next.site is None or ours:
        return Pattern.UNCLEAR
    conditional = _on_rank(facts, compared, odd_next.site)
    if theirs:
        behind = left_loop(facts, compared)[0] is RelativePosition.OUTSIDE
        left = behind or library_paths.has_returned(facts, compared)
        return Pattern.LEFT_LOOP if left and not conditional else Pattern.EXTRA_CALL
    if both_ways(facts, odd_next, reference_next) or shares_loop(facts, *compared.pair):
        return Pattern.ORDER
    if conditional and not _on_rank(facts, compared.mirrored(), reference_next.site):
        return Pattern.EXTRA_CALL
    points = control_flow_diff.branch_points(facts, compared)
    back = control_flow_diff.leads_on(facts, compared.mirrored())
    into = len(points) == 1 and points[0].enters and control_flow_diff.leads_on(facts, compared) and not back
    return Pattern.EXTRA_CALL if into else Pattern.UNCLEAR


def _both_known(facts: Facts, compared: Comparison) -> Pattern:
    """Both sides are in calls that both have made before."""
    for shows, pattern in (
        (_left_out_module, Pattern.EXTRA_CALL),
        (_goes_round, Pattern.LEFT_LOOP),
        (control_flow_diff.past_a_condition, Pattern.EXTRA_CALL),
        (_leads_in, Pattern.EXTRA_CALL),
    ):
        if shows(facts, compared.mirrored()):
            return Pattern.UNCLEAR  # decided from the other side
        if shows(facts, compared):
            return pattern
    return Pattern.ORDER


def _leads_in(facts: Facts, compared: Comparison) -> bool:
    """Whether in all rounds before the odd ranks' call came right before that of the others, which also came without
    it: what a rank computes where it has not kept it from before."""
    ours, theirs = compared.odd_next, compared.reference_next
    came: list[bool] = []
    for rank in compared.pair:
        history = facts.histories.get(rank)
        calls = [step for step in history.steps if step.collective] if history else []
        pairs = list(itertools.pairwise(calls))[: -1 if rank == compared.pair[1] else None]
        if any(before == ours and after != theirs for before, after in pairs):
            return False
        came += [before == ours for before, after in pairs if after == theirs]
    return True in came and False in came


def _left_out_module(facts: Facts, compared: Comparison) -> bool:
    """Whether the reference ranks left out a module's forward; with other calls it may as well be another order."""
    return is_forward(compared.odd_next) and is_forward(compared.reference_next) and left_out(facts, compared)


def _goes_round(facts: Facts, compared: Comparison) -> bool:
    """Whether the reference ranks do once more what both did just before, one operation or two, and the odd ranks
    something else: a loop that had fewer rounds for them, and no other order.
    """
    left, right = map(facts.histories.get, compared.pair)
    steps = (compared.odd_next, compared.reference_next)
    # modules of a sharded model gather one after the other: that is no loop, even if one line runs them
    if left is None or right is None or compared.diff.rejoined or all(map(is_forward, steps)):
        return False
    theirs = histories.shared(left, right)[1]
    common = theirs[: len(theirs) - len(compared.diff.right)]
    return compared.reference_next in common[-2:] and compared.odd_next not in common[-RUN:]


def only_on_some_ranks(facts: Facts, compared: Comparison, odd_next: HistoryStep) -> bool:
    """Whether only the odd ranks ever made this call, under a condition on the rank."""
    if odd_next.site is None or made_by(facts, odd_next, compared.reference):
        return False
    return _on_rank(facts, compared, odd_next.site)


def _on_rank(facts: Facts, compared: Comparison, site: Site) -> bool:
    """Whether the odd ranks' call is under a condition on the rank."""
    return condition_of(facts, site, compared.odd, compared.reference) is not None
