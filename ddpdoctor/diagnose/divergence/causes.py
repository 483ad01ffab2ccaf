"""Divergences that belong to a special cause: one place decides, so that the general rules give way to it."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from enum import Enum
from typing import TypeGuard

from ddpdoctor.diagnose.digest import frames, operations
from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.divergence import barrier_pairing
from ddpdoctor.diagnose.divergence.branch_points import BranchKind, BranchPoint
from ddpdoctor.diagnose.divergence.call_conditions import condition_of
from ddpdoctor.diagnose.divergence.patterns import Divergence, Pattern, divergences
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.source_reading import empty_checks, signal_handlers, source
from ddpdoctor.diagnose.source_reading.cfg_model import EdgeKind
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.stacks import Site

#: Functions of torch, DeepSpeed and Accelerate that gather a sharded model's parameters on every rank of the group.
STATE_FUNCTIONS = frozenset(
    {
        "get_model_state_dict",
        "get_optimizer_state_dict",
        "get_state_dict",
        "full_tensor",
        "full_optim_state_dict",
        "optim_state_dict",
        "scatter_full_optim_state_dict",
        "summon_full_params",
        "GatheredParameters",
        "save_checkpoint",
        "save_state",
        "save_16bit_model",
        "consolidate_state_dict",
    }
)
CREATING = frozenset({"new_group", "split_group"})
#: Parts of paths of the code that shards models, and gathers their parameters when a module runs.
_SHARDING = ("/torch/distributed/fsdp/", "/deepspeed/", "/torch/distributed/_composable/")
_GATHERING = frozenset({"all_gather", "reduce_scatter"})
_RUNNING = frozenset({"forward", "generate", "__call__"})


class Cause(Enum):
    SHARDED_STATE = "DD204"
    SHARDED_MODULE = "DD210"
    METRIC_KEYS = "DD211"
    BARRIER = "DD212"
    SIGNAL = "DD216"
    GROUP_CREATION = "DD219"


@functools.lru_cache(maxsize=64)
def cause_of(facts: Facts, divergence: Divergence) -> Cause | None:
    """The special cause of a divergence; None where the general rules say all that can be said."""
    if divergence.pattern is Pattern.EXTRA_CALL and divergence.odd_next and divergence.odd_next.site:
        if divergence.odd_next.op in CREATING:
            return Cause.GROUP_CREATION
        if state_call(facts, divergence.odd_next, divergence.odd):
            return Cause.SHARDED_STATE
        if _in_module(facts, divergence, divergence.odd_next.site):
            return Cause.SHARDED_MODULE
        if _skipped_barrier(facts, divergence, divergence.odd_next.site) or barrier_pairing.extra_barrier(
            facts, divergence
        ):
            return Cause.BARRIER
    if key_loop(facts, divergence) or nothing_to_give(facts, divergence):
        return Cause.METRIC_KEYS
    if divergence.pattern is Pattern.ORDER and module_call(facts, divergence):
        return Cause.SHARDED_MODULE
    return Cause.SIGNAL if signal_choice(facts, divergence) else None


def state_call(facts: Facts, odd_next: HistoryStep, odd: RankSet) -> str:
    """The function that gathers a sharded model's state and issued this collective, "" if none is seen.

    Either the odd ranks' stacks stand in it, or its name is on the line that made the call.
    """
    if odd_next.site is None or operations.family(odd_next.op) not in (*_GATHERING, "broadcast", "all_reduce"):
        return ""
    for rank in odd:
        seen = facts.evidence.rank(rank)
        main = frames.main_thread(seen) if seen else None
        if main and any(frames.same_place(frame, odd_next.site) for frame in main.frames):
            names = [frame.function.rpartition(".")[2] for frame in main.frames if facts.is_library(frame.file)]
            found = next((name for name in reversed(names) if name in STATE_FUNCTIONS), "")
            if found:
                return found
    line = source.Span(odd_next.site.line, odd_next.site.line, "")
    called = source.called_names(facts.program, odd_next.site.file, line)
    return next(iter(sorted(called & STATE_FUNCTIONS)), "")


def implicit(facts: Facts, odd_next: HistoryStep) -> bool:
    """The line that made the call names no such operation: something that it called issued it, for its own sake."""
    if odd_next.site is None or odd_next.site.file not in facts.evidence.code:
        return False
    called = source.called_names(
        facts.program, odd_next.site.file, source.Span(odd_next.site.line, odd_next.site.line, "")
    )
    return bool(called) and not any(operations.family(name) == operations.family(odd_next.op) for name in called)


def _in_module(facts: Facts, divergence: Divergence, site: Site) -> bool:
    """The call was made while a module ran: for its shards, or by a layer that communicates."""
    if site.function.rpartition(".")[2] not in _RUNNING or divergence.odd_next is None:
        return False
    if implicit(facts, divergence.odd_next):
        return operations.family(divergence.odd_next.op) in _GATHERING and _shards(facts)
    return condition_of(facts, site, divergence.odd, divergence.reference) is None


def module_call(
    facts: Facts, divergence: Divergence
) -> tuple[HistoryStep, HistoryStep | None, RankSet, RankSet] | None:
    """A collective of a module's forward that one side issued and the other did not come to.

    It, what the others went on to, the ranks that ran the module, and those that left it out.
    """
    if divergence.pattern is Pattern.EXTRA_CALL:
        return (
            (divergence.odd_next, divergence.reference_next, divergence.odd, divergence.reference)
            if divergence.odd_next
            else None
        )
    sides = ((divergence.odd_next, divergence.reference_next), (divergence.reference_next, divergence.odd_next))
    both = (divergence.odd, divergence.reference), (divergence.reference, divergence.odd)
    for (ran, passed), (ours, theirs) in zip(sides, both, strict=True):
        if ran is None or passed is None or ran.kind is not EventKind.CALL or ran.site is None or passed.site is None:
            continue
        inside, outside = (site.function.rpartition(".")[2] in _RUNNING for site in (ran.site, passed.site))
        if inside and not outside and not implicit(facts, ran) and not condition_of(facts, ran.site, ours, theirs):
            return ran, passed, ours, theirs
    return None


def _shards(facts: Facts) -> bool:
    """Some rank stands in the code that shards models."""
    seen = [main for rank in facts.evidence.ranks if (main := frames.main_thread(rank))]
    return any(part in frame.file for main in seen for frame in main.frames for part in _SHARDING)


def _skipped_barrier(facts: Facts, divergence: Divergence, site: Site) -> bool:
    """A barrier of some ranks paired with another barrier of the rest, and all went on, off by one."""
    theirs = divergence.collectives()[1]
    if not divergence.diff.inserted() or theirs is None or theirs.site == site:
        return False
    paired = bool(divergence.odd_next and "barrier" in divergence.odd_next.op and "barrier" in theirs.op)
    skipped = len(divergence.reference) < len(divergence.odd)
    return paired and (skipped or condition_of(facts, site, divergence.odd, divergence.reference) is None)


def key_loop(facts: Facts, divergence: Divergence) -> tuple[BranchPoint, HistoryStep, RankSet] | None:
    """The loop over names of which some ranks had fewer: the loop, the call in it, the ranks that made one more."""
    sides = (
        (divergence.odd_next, divergence.reference_next, divergence.odd),
        (divergence.reference_next, divergence.odd_next, divergence.reference),
    )
    before = divergence.diff.before
    for more, less, ranks in sides:
        if more is None or more.kind is not EventKind.CALL or more.site is None or more == less:
            continue
        if before is not None and before.kind is not EventKind.CALL:
            continue
        if (around := _names_in_expression(facts, divergence, more, ranks)) is not None:
            return around, more, ranks
        for point in divergence.branch_points:
            loop = _loop_over_names(facts, point, more.site) if point.kind is BranchKind.DATA else None
            if loop and not (less and less.site and less.site.file == more.site.file and less.site.line in loop):
                return point, more, ranks
    return None


def _names_in_expression(facts: Facts, divergence: Divergence, more: HistoryStep, ranks: RankSet) -> BranchPoint | None:
    """The line that goes over a mapping's names in a comprehension or `map`, if the ranks stand in its calls again."""
    before = divergence.diff.before
    if before is None or before.site != more.site or before.op != more.op:
        return None
    for frame in facts.stack(ranks.members[0]):
        tree = facts.program.tree(frame.file)
        for node in ast.walk(tree) if tree else ():
            if _goes_over_names(node) and node.lineno <= frame.line <= (node.end_lineno or node.lineno):
                text = facts.program.line_text(frame.file, frame.line)
                return BranchPoint(BranchKind.DATA, EdgeKind.ROUND, frame, text)
    return None


def _goes_over_names(node: ast.AST) -> TypeGuard[ast.expr]:
    """`{k: mean(v) for k, v in logs.items()}`, `map(mean, logs.values())`."""
    match node:
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            given = [generator.iter for generator in node.generators]
        case ast.Call(func=ast.Name(id="map"), args=[_, *given]):
            pass
        case _:
            return False
    called = {
        inner.func.attr
        for part in given
        for inner in ast.walk(part)
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute)
    }
    return bool(called & {"items", "keys", "values"})


def nothing_to_give(facts: Facts, divergence: Divergence) -> BranchPoint | None:
    """The condition past which a rank with nothing collected returns before the ranks' results are gathered."""
    if divergence.odd_next is None or divergence.odd_next.site is None or len(divergence.branch_points) != 1:
        return None
    point = divergence.branch_points[0]
    collects = (
        operations.family(divergence.odd_next.op) in ("all_gather", "gather") or "gather" in divergence.odd_next.op
    )
    decided = (
        divergence.pattern is Pattern.EXTRA_CALL
        and point.kind is BranchKind.CONDITION
        and point.site.file == divergence.odd_next.site.file
    )
    return point if collects and decided and empty_checks.asks_empty(facts.program, point.site) else None


def _loop_over_names(facts: Facts, point: BranchPoint, call: Site) -> range | None:
    """Lines of the loop, if it goes over a mapping or its keys and the call is in it."""
    tree = facts.program.tree(point.site.file)
    if tree is None or call.file != point.site.file:
        return None
    for node in ast.walk(tree):
        if not isinstance(node, ast.For) or node.lineno != point.site.line:
            continue
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        if call.line in lines and _over_names(node):
            return lines
    return None


def _over_names(loop: ast.For) -> bool:
    """`for k in d` where `d[k]` is read, or `for k, v in d.items()`."""
    methods = {
        n.func.attr for n in ast.walk(loop.iter) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
    }
    if methods & {"items", "keys", "values"}:
        return True
    targets = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    return any(_index(node) in targets for statement in loop.body for node in ast.walk(statement))


def _index(node: ast.AST) -> str:
    key = node.slice if isinstance(node, ast.Subscript) else None
    return key.id if isinstance(key, ast.Name) else ""


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


def divergences_of(facts: Facts, *wanted: Cause) -> Iterator[tuple[Divergence, Cause]]:
    """The divergences that have one of these causes."""
    for divergence in divergences(facts):
        found = cause_of(facts, divergence)
        if found in wanted and found is not None:
            yield divergence, found
