"""Questions for the rank that come before the process group is made: every process is told that it is the first.

`is_main_process()` of most projects copes without a group, so that a program can run as one process, and is true then.
What it guards before `init_process_group` all ranks do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import attendance
from ddpdoctor.lint.facts.exclusion import contradict
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, Guard
from ddpdoctor.lint.interpreter.trace import Branch
from ddpdoctor.lint.knowledge import heuristics, launchers, vocabulary
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.sites import SourceSite

_ASKS = "torch.distributed.is_initialized"


class Early(NamedTuple):
    """A condition that holds on all ranks, because nothing tells them apart yet."""

    guard: Guard
    #: where the group is made
    made: SourceSite


def asked_too_early(facts: ModuleFacts, call: CallEvent) -> Early | None:
    """The condition that is to choose the first rank for a call, if the group is made only after it is asked."""
    guard = _chosen(facts, call)
    mine = [c for c in facts.named(*vocabulary.GROUP_CALLS) if c.context.calls[:1] == call.context.calls[:1]]
    if guard is None or any(c.index < call.index for c in mine):
        return None
    asked = [c for c in facts.named(_ASKS) if c.index < call.index and _for(c, call, guard)]
    inside = len(call.context.calls)
    if not asked or any(_reads_launcher(facts, c.context.calls[inside:]) for c in asked):
        return None
    if any(map(_may_make_group, _before(facts, asked[0]))):
        return None
    under = call.context.guards
    later = (c for c in mine if not c.context.some_ranks_only and not contradict((*c.context.guards, *under)))
    made = next(later, None)
    return Early(guard, made.site) if made is not None else None


def branched_too_early(facts: ModuleFacts, branch: Branch) -> bool:
    """Whether a script makes the process group only after a branch on the rank: all ranks take the same side of it."""
    asking = [(c, at) for c in facts.named(_ASKS) if (at := _called_at(c, branch.site)) is not None]
    return bool(asking) and all(_is_too_early(facts, asked, asked.context.calls[at + 1 :]) for asked, at in asking)


def _is_too_early(facts: ModuleFacts, asked: CallEvent, inside: tuple[str, ...]) -> bool:
    """`inside`: the functions through which a condition asks for the group."""
    mine = [c for c in facts.named(*vocabulary.GROUP_CALLS) if c.context.calls[:1] == asked.context.calls[:1]]
    if not asked.context.from_script or not mine or any(c.index < asked.index for c in mine):
        return False
    return not _reads_launcher(facts, inside) and not any(map(_may_make_group, _before(facts, asked)))


def _called_at(asked: CallEvent, site: SourceSite) -> int | None:
    """Which of the calls that lead to the question for the group a branch makes in its condition, if one does."""
    own = asked.context.chain
    return next((at for at, one in enumerate(own) if one.file == site.file and one.line == site.line), None)


def _before(facts: ModuleFacts, asked: CallEvent) -> Iterator[CallEvent]:
    """The calls of the same program before the group is asked for."""
    root = asked.context.calls[:1]
    return (c for c in facts.calls if c.index < asked.index and c.context.calls[:1] == root)


def _chosen(facts: ModuleFacts, call: CallEvent) -> Guard | None:
    """The condition on the rank by which the first rank alone makes the call, where no other may choose one."""
    chosen = [guard for guard in call.context.guards if len(guard.truth) > 1]
    if call.context.mask != 1 or len(chosen) != 1 or call.context.handler == "except":
        return None
    others = (guard for guard in call.context.guards if guard is not chosen[0])
    ranked = bool(chosen[0].value.tags & Tag.RANK)
    return chosen[0] if ranked and all(attendance.is_harmless(facts, guard) for guard in others) else None


def _for(asked: CallEvent, call: CallEvent, guard: Guard) -> bool:
    """Whether the group was asked for in a function that the condition around the call has called."""
    way = asked.context.chain
    there = next((site for site in way if site.file == guard.site.file and site.line == guard.site.line), None)
    return there is not None and asked.context.calls[:1] == call.context.calls[:1]


def _may_make_group(call: CallEvent) -> bool:
    """Whether a function that cannot be seen may have made the group before."""
    return heuristics.MAY_WAIT.found_in(call.method or call.path.rpartition(".")[2])


def _reads_launcher(facts: ModuleFacts, inside: tuple[str, ...]) -> bool:
    """Whether one of the functions between a condition and the question for the group asks the launcher if there is
    none."""
    modules = facts.modules
    infos = (i for m in modules for i in (*m.functions, *(f for c in m.classes for f in c.methods.values())))
    nodes = (i.node for i in infos if i.qualname in inside)
    constants = (n.value for node in nodes for n in walk(node) if isinstance(n, ast.Constant))
    return any(value.__class__ is str and value in launchers.VARIABLES for value in constants)
