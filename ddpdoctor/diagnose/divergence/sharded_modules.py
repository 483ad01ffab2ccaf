"""Collectives that a sharded model issues by itself: to gather its state, or while one of its modules runs."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from ddpdoctor.diagnose.digest import frames, operations
from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.divergence.branch_points import BranchKind
from ddpdoctor.diagnose.divergence.call_conditions import condition_of
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.patterns import Pattern
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model import torch_internals
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.model.torch_internals import Meaning
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import last_name

#: Functions of torch, DeepSpeed and Accelerate that gather a sharded model's parameters on every rank of the group.
STATE_FUNCTIONS = torch_internals.functions(Meaning.GATHERS_STATE) | {
    "GatheredParameters",
    "save_checkpoint",
    "save_state",
    "save_16bit_model",
}
_GATHERING = frozenset({"all_gather", "reduce_scatter"})
_RUNNING = frozenset({"forward", "generate", "__call__"})
_FORWARDS = frozenset({EventKind.FORWARD, EventKind.FORWARD_NO_SYNC})


def state_call(facts: Facts, odd_next: HistoryStep, odd: RankSet) -> str:
    """The function that gathers a sharded model's state and issued this collective, "" if none is seen.

    Either the odd ranks' stacks contain it, or its name is on the line that made the call.
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
    line = enclosing.Span(odd_next.site.line, odd_next.site.line, "")
    called = enclosing.called_names(facts.program, odd_next.site.file, line)
    return next(iter(sorted(called & STATE_FUNCTIONS)), "")


def implicit(facts: Facts, odd_next: HistoryStep) -> bool:
    """Whether the calling line names no such operation, so something that it called issued the collective
    internally.
    """
    if odd_next.site is None or odd_next.site.file not in facts.evidence.code:
        return False
    called = enclosing.called_names(
        facts.program, odd_next.site.file, enclosing.Span(odd_next.site.line, odd_next.site.line, "")
    )
    return bool(called) and not any(operations.family(name) == operations.family(odd_next.op) for name in called)


def made_in_module(facts: Facts, divergence: Divergence) -> bool:
    """Whether the odd ranks' call was made while a module ran: to gather its shards, or by a layer that
    communicates.
    """
    site = divergence.odd_site
    if site is None or divergence.odd_next is None or not _inside_forward(facts, divergence, divergence.odd_next, site):
        return False
    if implicit(facts, divergence.odd_next):
        return operations.family(divergence.odd_next.op) in _GATHERING and _shards(facts)
    return condition_of(facts, site, divergence.odd, divergence.reference) is None


@dataclass(frozen=True, slots=True)
class ModuleParting:
    """Where the odd ranks went on without a sharded module, or a part of it, that the others still run."""

    site: Site
    #: they left a loop there
    left_loop: bool


def parting(facts: Facts, divergence: Divergence) -> ModuleParting | None:
    """Where ranks parted that have left a loop which runs a sharded model, or its parts; None for other divergences.

    A loop that does nothing else, as a generation does, was left at a condition or at the head of a counted loop: one
    over data ends with them. In a forward a condition leads out of a loop over the parts, or past one of them.
    """
    step, points = divergence.reference_next, divergence.branch_points
    decided = bool(points) and all(point.kind is BranchKind.CONDITION for point in points)
    if divergence.pattern is not Pattern.LEFT_LOOP or step is None or step.site is None or not _shards(facts):
        return None
    if step.kind is EventKind.CALL:
        if not decided or not implicit(facts, step) or not all(_runs_module(facts, point.site) for point in points):
            return None
        inner = bool(enclosing.enclosing_loops(facts.program, points[0].site))
        return ModuleParting(divergence.place(points[0]) if inner else points[0].site, inner)
    if step.kind not in _FORWARDS or not _gathers_alone(facts, divergence, step):
        return None
    if decided:
        return ModuleParting(divergence.place(points[0]), left_loop=True)
    loop = enclosing.loop_around(facts.program, step.site)
    counted = isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "range"
    return ModuleParting(replace(step.site, line=loop.lineno), True) if isinstance(loop, ast.For) and counted else None


def _gathers_alone(facts: Facts, divergence: Divergence, forward: HistoryStep) -> bool:
    """Whether the reference rank did nothing but gather parameters between its last two forwards of this kind."""
    history = facts.histories.get(divergence.compared.pair[1])
    places = [n for n, one in enumerate(history.steps) if one == forward] if history is not None else []
    turn = history.steps[places[-2] + 1 : places[-1]] if history is not None and len(places) > 1 else ()
    return bool(turn) and all(one.kind is EventKind.CALL and implicit(facts, one) for one in turn)


def _inside_forward(facts: Facts, divergence: Divergence, call: HistoryStep, site: Site) -> bool:
    """Whether a module's forward made the call, itself or by a method of its own, and the other side is not in it."""
    theirs = divergence.reference_next.path if divergence.reference_next else ()
    alone = [frame for frame in call.path if frame not in theirs and not facts.is_library(frame.file)]
    return any(_runs_module(facts, frame) for frame in (site, *alone))


def _runs_module(facts: Facts, frame: Site) -> bool:
    """Whether it is a module's forward; a class without bases may have methods of these names, and is none."""
    if frame.function.rpartition(".")[2] not in _RUNNING:
        return False
    owner = enclosing.class_around(facts.program, frame)
    return owner is None or bool(owner.bases)


@dataclass(frozen=True, slots=True)
class ModuleCall:
    """A collective of a module's forward that one side issued and the other did not reach."""

    call: HistoryStep
    #: the other side's next step
    passed: HistoryStep | None
    #: ranks that ran the module
    ran: RankSet
    left_out: RankSet


def module_call(facts: Facts, divergence: Divergence) -> ModuleCall | None:
    """The module call at which the sides differ; None for other divergences."""
    if divergence.pattern is Pattern.EXTRA_CALL:
        if divergence.odd_next is None:
            return None
        return ModuleCall(divergence.odd_next, divergence.reference_next, divergence.odd, divergence.reference)
    if divergence.pattern is Pattern.LEFT_LOOP:
        gathers = divergence.collectives()[1] if parting(facts, divergence) else None
        return ModuleCall(gathers, divergence.odd_next, divergence.reference, divergence.odd) if gathers else None
    sides = ((divergence.odd_next, divergence.reference_next), (divergence.reference_next, divergence.odd_next))
    both = (divergence.odd, divergence.reference), (divergence.reference, divergence.odd)
    for (ran, passed), (ours, theirs) in zip(sides, both, strict=True):
        if ran is None or passed is None or ran.kind is not EventKind.CALL or ran.site is None or passed.site is None:
            continue
        inside, outside = (site.function.rpartition(".")[2] in _RUNNING for site in (ran.site, passed.site))
        if inside and not outside and not implicit(facts, ran) and not condition_of(facts, ran.site, ours, theirs):
            return ModuleCall(ran, passed, ours, theirs)
    return None


def _shards(facts: Facts) -> bool:
    """Whether some rank is in the code that shards models, or the job's source imports it: where calls return before
    the device is done (NCCL), all ranks may stand in lines of their own."""
    seen = [main for rank in facts.evidence.ranks if (main := frames.main_thread(rank))]
    if any(is_sharding(frame.file) for main in seen for frame in main.frames):
        return True
    own = (facts.program.module(file) for file in facts.program if not facts.is_library(file))
    named = (name for module in own if module is not None for name in module.imports.values())
    return any(is_sharding(f"/{name.replace('.', '/')}/") for name in named)


def is_sharding(file: str) -> bool:
    """Whether the file shards models, and gathers their parameters when a module runs."""
    return torch_internals.is_in(file, Meaning.SHARDS) or "/deepspeed/" in file
