"""What shows that every rank comes to a call in a function whose callers are not visible.

A function of a library may be called on rank 0 only. But ranks that run a collective in it, or that are told apart in
it, are all there: what the same function does beside that, under no condition on the rank, all of them do. So are those
whose trainer calls a hook.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence

from ddpdoctor.lint.facts import blocks
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter import framework_objects
from ddpdoctor.lint.interpreter.events import CallEvent, Context, Guard
from ddpdoctor.lint.interpreter.trace import Branch
from ddpdoctor.lint.knowledge import filesystem, frameworks, heuristics
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.sites import SourceSite, site_of
from ddpdoctor.program.text import shown

#: operations that two ranks run, and the others do not
_OF_TWO = frozenset({"send", "recv", "isend", "irecv"})
#: operations of jobs in which each program has a part of its own
_OF_PARTS = frozenset({"init_rpc", "rpc.shutdown"})


class Witness(NamedTuple):
    """A place that only makes sense if several ranks come there."""

    site: SourceSite
    #: in the wording of a message
    text: str


def witness(facts: ModuleFacts, call: CallEvent) -> Witness | None:
    """What shows that all ranks reach a call that is not under a condition on the rank."""
    if call.context.some_ranks_only or not call.context.calls:
        return None
    # what a script does before it starts its processes, it does once
    if call.context.from_script:
        return None
    return _joined(facts, call) or _guarded_beside(facts, call) or _hooked(facts, call)


def in_turns(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether some ranks wait until the others are past the call: in a function on the way to it they run a collective
    more than the others before it, and the others theirs after it."""
    if not call.context.calls:
        return False
    way = (*call.context.chain, call.site)
    before, after = Counter[tuple[str, bool]](), Counter[tuple[str, bool]]()
    for op, chain, under in facts.sided(call.context.calls[0]):
        here = way[len(chain)] if chain == way[: len(chain)] and len(chain) < len(way) else None
        if here is None or op.site.file != here.file:
            continue
        chosen = {(branch.text, side) for branch, side in under if _on_rank(branch)}
        if op.site.end_line < here.line:
            before.update(chosen)
        elif op.site.line > here.end_line:
            after.update(chosen)
    waiting = any(before[those] > before[others] for those in before for others in after)
    return waiting or _let_through(facts, call)


def _let_through(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether a context around the call, of the project, makes some ranks wait as it begins, and others as it ends."""
    module = blocks.module_of(facts, call.site)
    scope = innermost_function(module.tree, call.site.line) if module is not None else None
    around = (n for n in walk(scope) if isinstance(n, ast.With)) if scope is not None else ()
    lines = {
        item.context_expr.lineno
        for block in around if block.lineno <= call.site.line <= (block.end_lineno or 0)
        for item in block.items
    }  # fmt: skip
    if not lines:
        return False
    way, chosen = call.context.chain, set[str]()
    for _, chain, under in facts.sided(call.context.calls[0]):
        if chain[:-1] == way and chain and chain[-1].file == call.site.file and chain[-1].line in lines:
            chosen |= {branch.text for branch, _ in under if _on_rank(branch)}
    return len(chosen) > 1


def suspicion(facts: ModuleFacts, call: CallEvent) -> Witness | None:
    """What makes it likely, but may as well be said twice: a condition on the rank beside the call."""
    return None if call.context.some_ranks_only or not call.context.calls else _told_apart(facts, call)


def _on_rank(branch: Branch) -> bool:
    return len(branch.truth) > 1 or heuristics.NAMES_RANK.found_in(branch.text)


def _joined(facts: ModuleFacts, call: CallEvent) -> Witness | None:
    """A collective that all ranks run, in a function on the way to the call."""
    sides = {guard.site: guard.side for guard in call.context.guards}
    for op, _, under in facts.sided(call.context.calls[0]):
        if op.op in _OF_TWO or op.op in _OF_PARTS or any(len(branch.truth) > 1 for branch, _ in under):
            continue
        if all(sides.get(branch.site, side) is side for branch, side in under):
            return Witness(op.site, f"all ranks come here, they run {op.op} in the same function")
    return None


def _told_apart(facts: ModuleFacts, call: CallEvent) -> Witness | None:
    """A condition on the rank beside the call, in a function on the way to it."""
    way = call.context.chain
    for event in facts.analysis.branches:
        context = event.context
        beside = context.calls[:1] == call.context.calls[:1] and context.chain == way[: len(context.chain)]
        around = context.guards[:-1]  # the last one is the condition itself
        if beside and len(event.guard.truth) > 1 and _compatible(around, call.context) and not _ranked(around):
            return Witness(event.guard.site, f"several ranks come here, which `{shown(event.guard.text)}` tells apart")
    return None


def _guarded_beside(facts: ModuleFacts, call: CallEvent) -> Witness | None:
    """Another write that the same function leaves to some ranks: the function is called on all of them."""
    for other in facts.calls:
        if other.context.calls[:1] != call.context.calls[:1] or not other.context.some_ranks_only:
            continue
        if other.path not in filesystem.RESULTS and other.path != filesystem.OPEN:
            continue
        guard = next((g for g in other.context.guards if len(g.truth) > 1), None)
        if guard is not None and _compatible(other.context.guards, call.context):
            return Witness(other.site, f"another file of this function is left to the ranks with `{shown(guard.text)}`")
    return None


def _hooked(facts: ModuleFacts, call: CallEvent) -> Witness | None:
    """The hook of a framework that leads to the call: its trainer calls it on each of its ranks."""
    owner, _, name = call.context.calls[0].rpartition(".")
    keeps = name in frameworks.KEEPS_ON_ALL_RANKS
    if not keeps and not name.startswith(frameworks.ON_ALL_RANKS):
        return None
    wanted = frozenset({frameworks.TRAINER}) if keeps else frameworks.HOOKED
    for info in facts.module.classes:
        hook = info.methods.get(name) if info.node.name == owner else None
        if hook is not None and wanted.intersection(framework_objects.bases(facts.analysis, info)):
            return Witness(site_of(facts.module, hook.node), "the trainer calls this hook on every rank")
    return None


def keeps_checkpoint(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether a trainer goes this way to keep a checkpoint while it trains."""
    name = call.context.calls[0].rpartition(".")[2] if call.context.calls else ""
    return name in frameworks.KEEPS_ON_ALL_RANKS and _hooked(facts, call) is not None


def _ranked(guards: Sequence[Guard]) -> bool:
    return any(len(guard.truth) > 1 for guard in guards)


def _compatible(guards: Sequence[Guard], call: Context) -> bool:
    """Whether the conditions can hold in a run with the call, and none of them may be on the rank by its name."""
    sides = {guard.site: guard.side for guard in call.guards}
    return all(
        sides.get(guard.site, guard.side) is guard.side
        and (guard.site in sides or len(guard.truth) > 1 or not _may_choose(guard))
        for guard in guards
    )


def _may_choose(guard: Guard) -> bool:
    return heuristics.CHOOSES_RANK.found_in(guard.text)
