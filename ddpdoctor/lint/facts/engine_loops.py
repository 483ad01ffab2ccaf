"""Loops of forward passes of DeepSpeed's engine that each rank leaves by its own data: a rank that generates until its
own texts have ended. Under ZeRO stage 3 each pass gathers the parameters from all ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import BranchEvent, CallEvent
from ddpdoctor.lint.knowledge.aliases import ENGINE
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Symbol, Taint
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.sites import SourceSite, site_of


class Left(NamedTuple):
    """A loop that ranks leave one by one."""

    #: the statement by which a rank leaves
    site: SourceSite
    branch: BranchEvent
    #: the forward pass in each turn
    forward: CallEvent


def left_by_own_data(facts: ModuleFacts) -> Iterator[Left]:
    """Conditions on this rank's data that end a loop of forward passes, and of nothing else that is known to wait."""
    passes = [call for call in facts.methods("__call__") if call.context.loops and _is_of_engine(call)]
    if not passes:
        return
    known = {item.branch.site for item in facts.divergences}
    for branch in facts.analysis.branches:
        leaves = _leaving(branch.node)
        if leaves is None or branch.guard.site in known or not _is_own(branch):
            continue
        forward = next((call for call in passes if _is_in_loop_of(branch, call)), None)
        if forward is not None:
            yield Left(site_of(branch.context.module, leaves), branch, forward)


def _is_of_engine(call: CallEvent) -> bool:
    receiver = call.receiver
    if receiver is None or receiver.tags & Tag.MAYBE or call.context.some_ranks_only:
        return False
    return isinstance(receiver.object, Made) and receiver.object.path == ENGINE


def _leaving(node: ast.AST) -> ast.stmt | None:
    """The statement by which one side of an `if` leaves the loop."""
    sides = (node.body, node.orelse) if isinstance(node, ast.If) else ()
    ends = (side[-1] for side in sides if side)
    return next((end for end in ends if isinstance(end, (ast.Break, ast.Return))), None)


def _is_own(branch: BranchEvent) -> bool:
    """Whether this rank's data alone decides: nothing that an option may switch off, as `synced_gpus` does."""
    atom = branch.guard.truth[0]
    if len(branch.guard.truth) != 1 or not isinstance(atom, Symbol) or atom.taint is not Taint.RANK_LOCAL:
        return False
    parts = [part for part in (atom.parts or ())[1:] if isinstance(part, Symbol)]
    return branch.guard.value.tags & Tag.BATCH != 0 and all(part.taint is Taint.RANK_LOCAL for part in parts)


def _is_in_loop_of(branch: BranchEvent, call: CallEvent) -> bool:
    """Whether the forward pass is in the innermost loop around the condition, in the same run of its function."""
    loops, chain = branch.context.loops, branch.context.chain
    if not loops or call.context.chain[: len(chain)] != chain or branch.context.calls[:1] != call.context.calls[:1]:
        return False
    return any(loop.node is loops[-1].node for loop in call.context.loops)
