"""Learning rates that a program writes into its optimizer: `for group in optimizer.param_groups: group["lr"] = rate`.

What a schedule does is a method of torch's, and seen as a call. This is the other way.
"""

from __future__ import annotations

import ast

from ddpdoctor.lint.interpreter.events import RateSetting
from ddpdoctor.lint.interpreter.frame import Frame, decided_by
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.values.values import Taint, Value, unknown
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.text import text_of

#: the attribute of an optimizer that holds its groups, and where each has its rate
_GROUPS, _RATE = "param_groups", "lr"


def note(machine: Machine, frame: Frame, node: ast.Assign | ast.AugAssign, value: Value) -> None:
    """Record an assignment of `value` that sets a rate."""
    for target in node.targets if isinstance(node, ast.Assign) else (node.target,):
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) and target.slice.value == _RATE:
            optimizer = _optimizer(frame, target.value)
            if optimizer is not None and not machine.silent:
                with machine.quietly():
                    owner = machine.evaluate(frame, optimizer)
                site, context = machine.site(frame, target), machine.context(frame)
                given, multiplies = _chosen(frame, node, value), _multiplies(node, target)
                machine.rates.append(RateSetting(owner, given, multiplies, site, context, len(machine.calls)))


def _chosen(frame: Frame, node: ast.AST, value: Value) -> Value:
    """A rate as it is after a branch on data of each rank: another one on other ranks."""
    apart = decided_by(frame, node)
    if apart is None:
        return value
    return unknown("chosen", value.atoms, id(node), taint=Taint.RANK_LOCAL, tags=value.tags | apart)


def _optimizer(frame: Frame, group: ast.expr) -> ast.expr | None:
    """The optimizer whose group it is: `optimizer.param_groups[0]`, or the variable of a loop through its groups."""
    if isinstance(group, ast.Name):
        around = (loop.node for loop in reversed(frame.loops))
        group = next(
            (n.iter for n in around if isinstance(n, ast.For) and text_of(n.target) == group.id), ast.Constant(None)
        )
    owned = (n.value for n in walk(group) if isinstance(n, ast.Attribute) and n.attr == _GROUPS)
    return next(owned, None)


def _multiplies(node: ast.Assign | ast.AugAssign, target: ast.expr) -> bool:
    """Whether the rate becomes a multiple of what it was: `*=`, `group["lr"] = group["lr"] * number`."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, (ast.Mult, ast.Div))
    value = node.value
    product = isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Mult, ast.Div))
    return product and any(text_of(part) == text_of(target) for part in ast.iter_child_nodes(value))
