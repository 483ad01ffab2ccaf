"""Simulating statements: which ranks go where, what they call, what names hold afterwards.

`Analysis.execute` looks each statement up in `STATEMENTS`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ddpdoctor.lint.facts import assignments, branches, frameworks, indexing, loops, modules, vocabulary
from ddpdoctor.lint.facts.contexts import enter
from ddpdoctor.lint.facts.frame import Frame, decided_by
from ddpdoctor.lint.facts.things import Class, Function, Listed
from ddpdoctor.lint.facts.trace import Alt, Exit, Node, Op, leaving_through
from ddpdoctor.lint.facts.values import (
    NO_TAGS,
    Taint,
    Value,
    of_thing,
    unknown,
)

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.analysis import Analysis


def apply_decorators(analysis: Analysis, frame: Frame, info: modules.FunctionInfo) -> None:
    """What decorators say of the body: only rank 0 runs it, or no gradients are kept in it."""
    for decorator in info.decorators:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
        if name in ("no_grad", "inference_mode"):
            frame.no_grad = True
        elif isinstance(decorator, ast.Call) and (decorator.args or any(k.arg == "rank" for k in decorator.keywords)):
            continue  # another rank, perhaps
        elif name in vocabulary.FIRST_RANK_DECORATORS and not _is_local(analysis, frame, target):
            site = analysis.site(frame, decorator)
            truths = (True, False, False, False)
            leave: tuple[Node, ...] = (Exit("return", site),)
            frame.out.append(Alt(truths, (), leave, site, f"@{name}", NO_TAGS))
            frame.mask &= 1


def _is_local(analysis: Analysis, frame: Frame, target: ast.expr) -> bool:
    """A decorator of the project's own may do more than its name says, switch barriers off for example."""
    return isinstance(analysis.evaluate(Frame(frame.module), target).thing, Function)


def _leave(kind: str) -> Callable[[Analysis, Frame, Any], None]:
    def handler(analysis: Analysis, frame: Frame, node: Any) -> None:
        frame.out.append(Exit(kind, analysis.site(frame, node)))
        frame.mask = 0

    return handler


def _return(analysis: Analysis, frame: Frame, node: Any) -> None:
    value = analysis.evaluate(frame, node.value) if node.value is not None else Value((None,), Taint.UNIFORM)
    frame.returns.append((frame.mask, value))
    apart = decided_by(frame, node)
    if apart is not None:
        frame.apart = apart | (frame.apart or NO_TAGS)
    if frameworks.steps_by_itself(analysis, frame.function) and not (value.known and value.constant is None):
        frame.out.append(Op("backward (Lightning)", None, analysis.site(frame, node)))
    frame.out.append(Exit("return", analysis.site(frame, node)))
    frame.mask = 0


def _raise(analysis: Analysis, frame: Frame, node: Any) -> None:
    if node.exc is not None:
        analysis.evaluate(frame, node.exc)
    frame.out.append(Exit("raise", analysis.site(frame, node)))
    frame.mask = 0


def _expr(analysis: Analysis, frame: Frame, node: Any) -> None:
    before = frame.dropped
    frame.dropped = node.value
    analysis.evaluate(frame, node.value)
    frame.dropped = before


def _function(_analysis: Analysis, frame: Frame, node: Any) -> None:
    if frame.function is None and len(frame.calls) == 1 and node in frame.module.tree.body:
        return  # found through the module's index
    info = indexing.function(frame.module, node)
    frame.nested.append(info)
    frame.env[node.name] = of_thing(Function(info, None, frame.env), id(node))


def _class(_analysis: Analysis, frame: Frame, node: Any) -> None:
    if frame.function is None and len(frame.calls) == 1 and node in frame.module.tree.body:
        return
    info = indexing.class_info(frame.module, node)
    frame.nested.extend(info.methods.values())
    frame.env[node.name] = of_thing(Class(info), id(node))


def _with(analysis: Analysis, frame: Frame, node: Any) -> None:
    before = frame.no_grad, frame.withs
    suffixes: list[Callable[[], None]] = []
    for item in node.items:
        value = analysis.evaluate(frame, item.context_expr)
        suffixes.append(enter(analysis, frame, item, value))
        if item.optional_vars is not None:
            entered = value.thing.element if isinstance(value.thing, Listed) else value
            assignments.assign(analysis, frame, item.optional_vars, entered or unknown("entered", id(item)))
    before_out, start_mask, frame.out = frame.out, frame.mask, []
    analysis.execute(frame, node.body)
    inner, frame.out = tuple(frame.out), []
    # whoever returns out of the block leaves the context as well
    alive, frame.mask = frame.mask, start_mask
    for leave in reversed(suffixes):
        leave()
    frame.mask &= alive
    last = tuple(frame.out)
    frame.out = [*before_out, *leaving_through(inner, last), *last]
    frame.no_grad, frame.withs = before


def _delete(_analysis: Analysis, frame: Frame, node: Any) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            frame.env.pop(target.id, None)


def _import(_analysis: Analysis, frame: Frame, node: Any) -> None:
    """A local import: names are in the module's import table; they only must not be shadowed by old values."""
    for alias in node.names:
        frame.env.pop(alias.asname or alias.name.partition(".")[0], None)


def _assert(analysis: Analysis, frame: Frame, node: Any) -> None:
    analysis.evaluate(frame, node.test)


#: how each kind of statement is simulated; the others do nothing
STATEMENTS: dict[type[ast.stmt], Callable[[Any, Frame, Any], None]] = {
    ast.If: branches.if_statement,
    ast.For: loops.for_loop,
    ast.AsyncFor: loops.for_loop,
    ast.While: loops.while_loop,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: branches.try_statement,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _leave("break"),
    ast.Continue: _leave("continue"),
    ast.Expr: _expr,
    ast.Assign: assignments.plain,
    ast.AnnAssign: assignments.annotated,
    ast.AugAssign: assignments.augmented,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Match: branches.match_statement,
    ast.Delete: _delete,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.Assert: _assert,
}
if hasattr(ast, "TryStar"):
    STATEMENTS[ast.TryStar] = branches.try_statement
