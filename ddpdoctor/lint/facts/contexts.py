"""`with` blocks: a context manager of the project is its code before and after the `yield`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ddpdoctor.lint.facts.calls import follow
from ddpdoctor.lint.facts.classes import find_method
from ddpdoctor.lint.facts.frame import Frame
from ddpdoctor.lint.facts.modules import FunctionInfo
from ddpdoctor.lint.facts.things import Function, Instance, Made, Method
from ddpdoctor.lint.facts.trace import Exit, Scope
from ddpdoctor.lint.facts.values import Value, unknown

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.analysis import Analysis


#: gradients are not shared in this block, or they are: `with model.no_sync() if ... else nullcontext():`
MAYBE_UNSHARED = "no_sync, or not"
UNKNOWN = unknown("context")


def enter(analysis: Analysis, frame: Frame, item: ast.withitem, value: Value) -> Callable[[], None]:
    """Take note of the context; what is returned is to be called when the block ends."""
    name = _name(value, item.context_expr)
    if name in ("no_grad", "inference_mode"):
        frame.no_grad = True
    frame.withs = (*frame.withs, name)
    if isinstance(value.thing, Instance):
        return _enter_instance(analysis, frame, item, value, value.thing)
    return _split(frame, item)


def _name(value: Value, node: ast.expr) -> str:
    if isinstance(node, ast.IfExp):
        one_of = {_name(UNKNOWN, node.body), _name(UNKNOWN, node.orelse)}
        return MAYBE_UNSHARED if "no_sync" in one_of else ""
    if isinstance(value.thing, Made):
        return value.thing.path.rpartition(".")[2]
    if isinstance(value.thing, Method):
        return value.thing.name
    target = node.func if isinstance(node, ast.Call) else node
    return target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""


def _enter_instance(
    analysis: Analysis, frame: Frame, item: ast.withitem, value: Value, thing: Instance
) -> Callable[[], None]:
    site, raised = analysis.site(frame, item.context_expr), analysis.raised
    first = find_method(analysis, thing.info, "__enter__")
    last = find_method(analysis, thing.info, "__exit__")
    if first is not None:
        follow(analysis, frame, Function(first, value), (), (), site, None)
        analysis.raised = raised.union(_raises(analysis, first))

    def leave() -> None:
        if last is not None:
            follow(analysis, frame, Function(last, value), (), (), site, None)
        analysis.raised = raised

    return leave


def _raises(analysis: Analysis, method: FunctionInfo) -> Iterator[tuple[str, str]]:
    """`global DEPTH; DEPTH += 1`: what the block runs can tell by it that it is inside."""
    for statement in method.body if method.outer else ():
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            name = (method.module.path, statement.target.id)
            one = isinstance(statement.value, ast.Constant) and statement.value.value == 1
            if one and isinstance(statement.op, ast.Add) and name in analysis.rebound:
                yield name


def _split(frame: Frame, item: ast.withitem) -> Callable[[], None]:
    """The generator was simulated as one call; what it does after its `yield` belongs behind the block."""
    if not isinstance(item.context_expr, ast.Call) or not frame.out or not isinstance(frame.out[-1], Scope):
        return lambda: None
    scope = frame.out[-1]
    call = item.context_expr
    if scope.site.line != call.lineno:
        return lambda: None
    at = next((i for i, n in enumerate(scope.body) if isinstance(n, Exit) and n.kind == "yield"), None)
    if at is None:
        return lambda: None
    before, after = scope.body[:at], scope.body[at + 1 :]
    frame.out[-1:] = [Scope(scope.name, before, scope.site)] if before else []

    def leave() -> None:
        if after:
            frame.out.append(Scope(scope.name, after, scope.site))

    return leave
