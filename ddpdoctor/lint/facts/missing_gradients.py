"""Gradients that a rank averages only where it has them, and parts of the network that give it none."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import averaged_gradients, network_parts, networks, parts_by_key, skipped_parts
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.facts.skipped_parts import Skipped
from ddpdoctor.lint.interpreter.events import CallEvent, EnclosingLoop, Guard
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import expression_of


class MissingGradient(NamedTuple):
    """A condition under which a loop over parameters leaves one out."""

    guard: Guard
    #: reduces the others
    call: CallEvent
    #: what has no gradient where the data of a rank does not need it
    skipped: Skipped
    #: where a dict by whose keys the parts are called may lack one; None if a condition decides on the call
    left_out: SourceSite | None = None


def found(facts: ModuleFacts) -> Iterator[MissingGradient]:
    """Loops over the parameters of a network of the project, of which a method calls some under a condition on data."""
    for call in averaged_gradients.calls(facts):
        loop = call.context.loops[-1] if call.context.loops else None
        guard = _asking_for_gradient(call, loop) if loop is not None else None
        if guard is None or loop is None or loop.over is None:
            continue
        held = network_parts.holds(loop.over)
        parts = [part for network in held for part in networks.closure(facts.analysis, network)]
        skipped = next((one for part in parts for one in skipped_parts.of_class(part)), None)
        by_key = next((one for part in parts for one in parts_by_key.of_class(part)), None) if skipped is None else None
        left_out = parts_by_key.left_out(facts) if by_key is not None else None
        found = skipped or (by_key if left_out is not None else None)
        if found is not None and not _gives_all(facts):
            yield MissingGradient(guard, call, found, left_out)


def _asking_for_gradient(call: CallEvent, loop: EnclosingLoop) -> Guard | None:
    """The condition inside the loop that asks whether there is a gradient: `if p.grad is None: continue`."""
    first, last = loop.site.line, loop.site.end_line
    inside = (g for g in call.context.guards if g.site.file == loop.site.file and first < g.site.line <= last)
    return next((guard for guard in inside if _asks_for_gradient(guard)), None)


def _asks_for_gradient(guard: Guard) -> bool:
    tree = expression_of(guard.text)
    return any(
        isinstance(part, ast.Compare) and last_name(part.left) == "grad"
        and isinstance(part.ops[0], (ast.Is, ast.IsNot)) and _is_none(part.comparators[0])
        for part in (walk(tree) if tree is not None else ())
    )  # fmt: skip


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _gives_all(facts: ModuleFacts) -> bool:
    """Whether a file makes that each parameter has a gradient: by nought times it in the loss, or by leaving in place
    those that were there once."""
    return any(map(_is_nought, (n for m in facts.modules for n in m.of(ast.BinOp)))) or any(
        keyword.arg == "set_to_none" and isinstance(keyword.value, ast.Constant) and keyword.value.value is False
        for module in facts.modules for keyword in module.of(ast.keyword)
    )  # fmt: skip


def _is_nought(node: ast.AST) -> bool:
    """Whether it is `0 * sum(...)`."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return False
    return any(isinstance(side, ast.Constant) and side.value == 0 for side in (node.left, node.right))
