"""A rank's own loss: what a program goes backward from, was computed from the batch of this rank.

Where a function cannot be seen, its result may be equal on all ranks. A loss is not: DDP averages the gradients, and a
loss that a collective had changed would have none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ddpdoctor.lint.interpreter import batches
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Taint, Value, unknown
from ddpdoctor.program.nodes import last_name, names_in, walk


def named(frame: Frame, name: str, value: Value) -> Value:
    """The value of a variable, if it is not known to differ by rank although the function goes backward from it."""
    if not value.tags & (Tag.DDP | Tag.DETACHED) or value.tags & Tag.AGREED or value.taint is not Taint.UNKNOWN:
        return value
    if frame.no_grad or not batches.in_batches(frame):
        return value
    node = frame.function.node if frame.function is not None else frame.module.tree
    if name not in _gone_back_from(node):
        return value
    return unknown("loss", value.atoms, taint=Taint.RANK_LOCAL, tags=value.tags).with_object(value.object)


def _gone_back_from(function: ast.AST) -> frozenset[str]:
    """The variables of a function from which it goes backward, and those that they are computed from."""
    known: frozenset[str] | None = function.__dict__.get("_gone_back_from")
    if known is None:
        known = function.__dict__["_gone_back_from"] = _found_back_from(function)
    return known


def _found_back_from(function: ast.AST) -> frozenset[str]:
    nodes = walk(function)
    calls = (node for node in nodes if isinstance(node, ast.Call) and last_name(node.func) == "backward")
    found = {name for call in calls for name in names_in(call)}
    bound = [pair for node in nodes for pair in _bound(node)] if found else []
    for _ in range(_STEPS):
        found |= {name for target, value in bound if target in found for name in names_in(value)}
    # what is counted up is passed to the network, and no network computes it
    return frozenset(found - _counted(nodes))


def _counted(nodes: Iterable[ast.AST]) -> set[str]:
    """The variables that are counted up: `step += 1`."""
    counts = (n for n in nodes if isinstance(n, ast.AugAssign) and isinstance(n.value, ast.Constant))
    return {node.target.id for node in counts if isinstance(node.target, ast.Name)}


def _bound(node: ast.AST) -> list[tuple[str, ast.expr]]:
    """The variables that an assignment or `with scaled(loss) as other` binds, each with what to."""
    if isinstance(node, ast.Assign):
        return [(target.id, node.value) for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
        return [(node.optional_vars.id, node.context_expr)]
    return []


#: how many assignments may lie between a loss and what goes backward
_STEPS = 3
