"""The classifier: decides which cause each divergence has. A rule only words its own cause."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum

from ddpdoctor.diagnose import codes
from ddpdoctor.diagnose.divergence import (
    backward_calls,
    barrier_pairing,
    batch_counts,
    except_clauses,
    missing_gradients,
    reduced_names,
    sharded_modules,
    signal_flags,
    synchronised_forwards,
)
from ddpdoctor.diagnose.divergence.branch_points import BranchKind
from ddpdoctor.diagnose.divergence.caught_calls import perhaps_caught
from ddpdoctor.diagnose.divergence.decisions import decided_alone, only_an_exception, perhaps_an_exception
from ddpdoctor.diagnose.divergence.divergences import Divergence, divergences
from ddpdoctor.diagnose.divergence.loader_errors import loader_raised
from ddpdoctor.diagnose.divergence.patterns import Pattern
from ddpdoctor.diagnose.facts import Facts, kept

#: calls that create a group, and that all ranks of the job must make
CREATING = frozenset({"new_group", "split_group"})


class Cause(Enum):
    """The causes of a divergence, each with the diagnosis that names it."""

    UNEVEN_INPUTS = codes.UNEVEN_INPUTS
    UNEVEN_MICROBATCHES = codes.UNEVEN_MICROBATCHES
    RANK_CONDITION = codes.RANK_CONDITIONAL_COLLECTIVE
    SHARDED_STATE = codes.SHARDED_STATE_ON_ONE_RANK
    FORWARD_ALONE = codes.ONE_RANK_FORWARD_THROUGH_DDP
    LOCAL_DECISION = codes.LOCAL_STOP_DECISION
    SKIPPED_BATCH = codes.SKIPPED_BATCH
    CAUGHT_EXCEPTION = codes.SWALLOWED_EXCEPTION
    SMALLER_GRAPH = codes.DATA_DEPENDENT_GRAPH
    SHARDED_MODULE = codes.CONDITIONAL_SHARDED_MODULE
    FEWER_NAMES = codes.METRIC_KEYS_DIFFER
    BARRIER = codes.BARRIER_OFF_BY_ONE
    ORDER = codes.COLLECTIVE_ORDER_MISMATCH
    SIGNAL = codes.SIGNAL_ON_SOME_RANKS
    NO_SYNC = codes.NO_SYNC_MISMATCH
    GROUP_CREATION = codes.GROUP_CREATION_MISMATCH


@kept
def classified(facts: Facts) -> tuple[tuple[Divergence, Cause | None], ...]:
    """Every divergence with its cause; None if the evidence does not decide between several causes."""
    return tuple((divergence, cause_of(facts, divergence)) for divergence in divergences(facts))


def divergences_of(facts: Facts, cause: Cause) -> Iterator[Divergence]:
    """The divergences that have this cause."""
    return (divergence for divergence, found in classified(facts) if found is cause)


def cause_of(facts: Facts, divergence: Divergence) -> Cause | None:
    return next((cause for cause, holds in DECIDED_BY if holds(facts, divergence)), None)


def more_than_an_order(facts: Facts) -> bool:
    """Whether a divergence shows calls that one side did not make, rather than the same calls in another order."""
    return any(one.pattern not in (Pattern.ORDER, Pattern.UNCLEAR) for one in divergences(facts))


def _caught_exception(facts: Facts, divergence: Divergence) -> bool:
    if loader_raised(facts, divergence):
        return True
    left_out = divergence.reference_next
    return only_an_exception(divergence) and left_out is not None and left_out.site is not None


def _without_sync(facts: Facts, divergence: Divergence) -> bool:
    seen = divergence.pattern is Pattern.NO_SYNC and divergence.odd_site is not None
    if seen and batch_counts.more_microbatches(facts, divergence) is not None:
        return False  # a step in two parts, of which the first does not reduce
    return seen or synchronised_forwards.fewer(facts, divergence) is not None


def _smaller_graph(facts: Facts, divergence: Divergence) -> bool:
    if backward_calls.smaller_graph(facts, divergence) is not None:
        return True
    return missing_gradients.missing_gradient(facts, divergence) is not None


def _forward_alone(_: Facts, divergence: Divergence) -> bool:
    return divergence.pattern is Pattern.EXTRA_FORWARD and divergence.odd_site is not None


def _created_group(facts: Facts, divergence: Divergence) -> bool:
    act = divergence.odd_next
    alone = _extra_call(divergence) or (only_an_exception(divergence) and _handled(facts, divergence))
    return alone and act is not None and act.op in CREATING


def _handled(facts: Facts, divergence: Divergence) -> bool:
    """Whether the odd ranks made their call in the handler of what they raised."""
    path = divergence.odd_next.path if divergence.odd_next else ()
    within = {(frame.file, except_clauses.handler_at(facts.program, frame)) for frame in path}
    return all((point.site.file, point.site.line) in within for point in divergence.branch_points)


def _sharded_state(facts: Facts, divergence: Divergence) -> bool:
    act = divergence.odd_next
    return _extra_call(divergence) and act is not None and bool(sharded_modules.state_call(facts, act, divergence.odd))


def _call_in_module(facts: Facts, divergence: Divergence) -> bool:
    if _extra_call(divergence):
        return sharded_modules.made_in_module(facts, divergence)
    return sharded_modules.parting(facts, divergence) is not None


def _module_for_another(facts: Facts, divergence: Divergence) -> bool:
    """Whether each side continued with calls that the other did not make, one of them in a module's forward."""
    return divergence.pattern is Pattern.ORDER and sharded_modules.module_call(facts, divergence) is not None


def _barrier(facts: Facts, divergence: Divergence) -> bool:
    if barrier_pairing.helper_barrier(facts, divergence) is not None:
        return True
    if not _extra_call(divergence):
        return False
    skipped = barrier_pairing.skipped_barrier(facts, divergence)
    return skipped or barrier_pairing.extra_barrier(facts, divergence) is not None


def _fewer_names(facts: Facts, divergence: Divergence) -> bool:
    fewer = reduced_names.key_loop(facts, divergence)
    early = reduced_names.nothing_to_give(facts, divergence) or reduced_names.not_logged(facts, divergence)
    return fewer is not None or early is not None


def _signal(facts: Facts, divergence: Divergence) -> bool:
    return signal_flags.signal_flag(facts, divergence) is not None


def _perhaps_caught(facts: Facts, divergence: Divergence) -> bool:
    """Whether the odd ranks may have caught an exception in a turn, and ended with the loop as the others will: where
    nothing counts the turns, that leaves the same trace as one turn fewer."""
    if divergence.turns is not None:
        return False
    return any(perhaps_caught(facts, divergence.compared, point.site) for point in divergence.branch_points)


def _ran_out(facts: Facts, divergence: Divergence) -> bool:
    if divergence.pattern is Pattern.LEFT_LOOP:
        ended = batch_counts.only_ended(divergence) and not _perhaps_caught(facts, divergence)
        return ended and not _microbatches(facts, divergence)
    ended = divergence.pattern is Pattern.ENDED_EARLY
    return ended and divergence.odd_site is not None and batch_counts.fewer_batches(facts, divergence)


def _microbatches(facts: Facts, divergence: Divergence) -> bool:
    return batch_counts.more_microbatches(facts, divergence) is not None


def _skipped(_: Facts, divergence: Divergence) -> bool:
    """By a condition: if an exception may have skipped the batch as well, the evidence does not decide."""
    if divergence.pattern is not Pattern.SKIPPED or divergence.reference_next is None:
        return False
    return not only_an_exception(divergence) and not perhaps_an_exception(divergence)


def _local_decision(facts: Facts, divergence: Divergence) -> bool:
    kinds = {point.kind for point in divergence.branch_points}
    stopped = bool(kinds & {BranchKind.CONDITION, BranchKind.RETURN}) and BranchKind.DATA not in kinds
    return (divergence.pattern is Pattern.LEFT_LOOP and stopped) or decided_alone(facts, divergence)


def _rank_condition(facts: Facts, divergence: Divergence) -> bool:
    return _extra_call(divergence) and not decided_alone(facts, divergence)


def _order(_: Facts, divergence: Divergence) -> bool:
    ours, theirs = divergence.odd_next, divergence.reference_next
    return divergence.pattern is Pattern.ORDER and bool(ours and theirs and ours.group == theirs.group)


def _extra_call(divergence: Divergence) -> bool:
    return divergence.pattern is Pattern.EXTRA_CALL and divergence.odd_site is not None


#: What a divergence must show for each cause; the first match is its cause. Causes that were directly observed come
#: first, then those that the place of the call implies, and last those that can hold for any call.
DECIDED_BY: tuple[tuple[Cause, Callable[[Facts, Divergence], bool]], ...] = (
    (Cause.GROUP_CREATION, _created_group),
    (Cause.CAUGHT_EXCEPTION, _caught_exception),
    (Cause.NO_SYNC, _without_sync),
    (Cause.SMALLER_GRAPH, _smaller_graph),
    (Cause.FORWARD_ALONE, _forward_alone),
    (Cause.SHARDED_STATE, _sharded_state),
    (Cause.SHARDED_MODULE, _call_in_module),
    (Cause.BARRIER, _barrier),
    (Cause.FEWER_NAMES, _fewer_names),
    (Cause.SHARDED_MODULE, _module_for_another),
    (Cause.SIGNAL, _signal),
    (Cause.UNEVEN_INPUTS, _ran_out),
    (Cause.UNEVEN_MICROBATCHES, _microbatches),
    (Cause.SKIPPED_BATCH, _skipped),
    (Cause.LOCAL_DECISION, _local_decision),
    (Cause.RANK_CONDITION, _rank_condition),
    (Cause.ORDER, _order),
)
