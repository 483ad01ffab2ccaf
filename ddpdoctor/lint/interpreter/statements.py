"""Simulation of statements: which ranks execute them, what they call, what names hold afterwards.

`Analysis.execute` looks each kind up in `STATEMENTS`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ddpdoctor.lint.interpreter import assignments, branches, decorators, framework_objects, functions, loops
from ddpdoctor.lint.interpreter.contexts import enter
from ddpdoctor.lint.interpreter.frame import Frame, decided_by
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.interpreter.trace import QUIT, BlockExit, Op, leaving_through
from ddpdoctor.lint.values.abstract_objects import Class, External, Function, Listed, Made
from ddpdoctor.lint.values.tags import NO_TAGS
from ddpdoctor.lint.values.values import EVERY_RANK, Taint, Value, of_object, unknown
from ddpdoctor.program import indexing


def _leave(kind: str) -> Callable[[Machine, Frame, Any], None]:
    def handler(machine: Machine, frame: Frame, node: Any) -> None:
        frame.out.append(BlockExit(kind, machine.site(frame, node)))
        frame.mask = 0

    return handler


def _return(machine: Machine, frame: Frame, node: Any) -> None:
    value = machine.evaluate(frame, node.value) if node.value is not None else Value((None,), Taint.UNIFORM)
    frame.returns.append((frame.mask, value))
    apart = decided_by(frame, node)
    if apart is not None:
        frame.apart = apart | (frame.apart or NO_TAGS)
        if frame.stores:
            frame.left.append((apart, dict(frame.stores)))
    if framework_objects.steps_by_itself(machine, frame.function) and not (value.known and value.constant is None):
        frame.out.append(Op("backward (Lightning)", None, machine.site(frame, node)))
    frame.out.append(BlockExit("return", machine.site(frame, node)))
    frame.mask = 0


def _raise(machine: Machine, frame: Frame, node: Any) -> None:
    raised = machine.evaluate(frame, node.exc) if node.exc is not None else None
    kind = QUIT if raised is not None and _is_done(raised) and not functions.ends_job(frame.function) else "raise"
    frame.out.append(BlockExit(kind, machine.site(frame, node)))
    frame.mask = 0


_EXIT = "builtins.SystemExit"


def _is_done(raised: Value) -> bool:
    """Whether it is `SystemExit`, `SystemExit()` or `SystemExit(0)`, by which a process ends as one that is done."""
    made = raised.object
    if isinstance(made, External):
        return made.path == _EXIT
    return isinstance(made, Made) and made.path == _EXIT and functions.ends_in_order(made, "code")


def _expr(machine: Machine, frame: Frame, node: Any) -> None:
    before = frame.dropped
    frame.dropped = node.value
    machine.evaluate(frame, node.value)
    frame.dropped = before


def _function(machine: Machine, frame: Frame, node: Any) -> None:
    if frame.function is None and len(frame.calls) == 1 and node in frame.module.tree.body:
        return  # found through the module's index
    info = indexing.function(frame.module, node)
    frame.nested.append(info)
    machine.enclosing.append(frame)
    frame.env[node.name] = of_object(Function(info, None, frame), id(node))
    if info.decorators and frame.mask != EVERY_RANK and not machine.silent:
        decorators.attach(machine, frame, info, frame.env[node.name])


def _class(_machine: Machine, frame: Frame, node: Any) -> None:
    if frame.function is None and len(frame.calls) == 1 and node in frame.module.tree.body:
        return
    info = indexing.class_(frame.module, node)
    frame.nested.extend(info.methods.values())
    frame.env[node.name] = of_object(Class(info), id(node))


def _with(machine: Machine, frame: Frame, node: Any) -> None:
    before = frame.no_grad, frame.withs
    suffixes: list[Callable[[], None]] = []
    for item in node.items:
        value = machine.evaluate(frame, item.context_expr)
        suffixes.append(enter(machine, frame, item, value))
        if item.optional_vars is not None:
            entered = value.object.element if isinstance(value.object, Listed) else value
            assignments.assign(machine, frame, item.optional_vars, entered or unknown("entered", id(item)))
    before_out, start_mask, frame.out = frame.out, frame.mask, []
    machine.execute(frame, node.body)
    inner, frame.out = tuple(frame.out), []
    # a return out of the block leaves the context as well
    alive, frame.mask = frame.mask, start_mask
    for leave in reversed(suffixes):
        leave()
    frame.mask &= alive
    last = tuple(frame.out)
    frame.out = [*before_out, *leaving_through(inner, last), *last]
    frame.no_grad, frame.withs = before


def _delete(_machine: Machine, frame: Frame, node: Any) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            frame.env.pop(target.id, None)


def _import(_machine: Machine, frame: Frame, node: Any) -> None:
    """A local import: names are in the module's import table, so only old values must not shadow them."""
    for alias in node.names:
        frame.env.pop(alias.asname or alias.name.partition(".")[0], None)


def _assert(machine: Machine, frame: Frame, node: Any) -> None:
    test = machine.evaluate(frame, node.test)
    machine.observe(frame, node, test)
    branches.hold(frame, test)
    if not machine.silent:
        machine.asserted += test.atoms


#: the handler of each kind of statement; all others do nothing
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
