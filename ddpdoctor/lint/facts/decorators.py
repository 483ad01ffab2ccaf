"""What the project's own decorators make of its functions: a wrapper, called in the function's place."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ddpdoctor.lint.facts.frame import Frame
from ddpdoctor.lint.facts.modules import FunctionInfo
from ddpdoctor.lint.facts.sites import site_of
from ddpdoctor.lint.facts.things import Function
from ddpdoctor.lint.facts.trace import Scope, Trace
from ddpdoctor.lint.facts.values import of_thing

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.analysis import Analysis


def decorated(analysis: Analysis, info: FunctionInfo) -> Function | None:
    """What stands under the function's name where a decorator of the project has put something else there."""
    if info in analysis.wrappers:
        return analysis.wrappers[info]
    analysis.wrappers[info] = None  # a decorator that calls what it decorates sees the function itself
    found = analysis.wrappers[info] = _wrapper(analysis, info)
    return found


def _wrapper(analysis: Analysis, info: FunctionInfo) -> Function | None:
    made: Function | None = None
    analysis.silent += 1
    try:
        for decorator in reversed(info.decorators):
            if not _may_be_local(info, decorator):
                continue
            frame = Frame(info.module)
            applied = analysis.evaluate(frame, decorator).thing
            if not isinstance(applied, Function):
                continue
            given = of_thing(made or Function(info, bare=True), "decorated", id(info))
            outcome = analysis.call(applied, (given,), (), frame, site_of(info.module, decorator))
            result = outcome.value.thing if outcome is not None else None
            if not isinstance(result, Function) or result.info is info:
                return None
            made = result
    finally:
        analysis.silent -= 1
    return made


def _may_be_local(info: FunctionInfo, decorator: ast.expr) -> bool:
    """Found by a name that is not one of Python's own."""
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    while isinstance(target, ast.Attribute):
        target = target.value
    if not isinstance(target, ast.Name) or target.id in (
        "staticmethod",
        "classmethod",
        "property",
        "functools",
        "torch",
    ):
        return False
    return target.id in info.module.bindings or target.id in info.module.imports or bool(info.module.stars)


def run(analysis: Analysis, info: FunctionInfo) -> Trace | None:
    """Simulate a function that nobody calls through its decorators; None where they do not lead into it."""
    wrapper = decorated(analysis, info)
    if wrapper is None:
        return None
    env = analysis.parameters(info)
    frame = Frame(info.module, calls=(info.qualname,))
    site = site_of(info.module, info.decorators[0])
    try:
        outcome = analysis.call(wrapper, tuple(env[p.arg] for p in info.parameters), (), frame, site)
    except RecursionError:
        analysis.too_deep = True
        return None
    if info not in analysis.ran or outcome is None:
        return None
    return (Scope(info.name, outcome.trace, site),)
