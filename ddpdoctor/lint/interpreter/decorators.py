"""The project's own decorators: the wrapper that is called in a function's place."""

from __future__ import annotations

import ast

from ddpdoctor.lint.interpreter.events import Attached
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.interpreter.trace import BlockExit, Branch, Node, Scope, Trace
from ddpdoctor.lint.knowledge import hooks, vocabulary
from ddpdoctor.lint.values.abstract_objects import Function
from ddpdoctor.lint.values.tags import NO_TAGS
from ddpdoctor.lint.values.values import FIRST_RANK, RANK_ZERO, Atom, Taint, Value, of_object, symbol
from ddpdoctor.program import modules
from ddpdoctor.program.modules import FunctionInfo
from ddpdoctor.program.nodes import decorator_name
from ddpdoctor.program.sites import site_of


def decorated(machine: Machine, info: FunctionInfo) -> Function | None:
    """The wrapper that a decorator of the project returns in place of the function, if any."""
    if info in machine.wrappers:
        return machine.wrappers[info]
    machine.wrappers[info] = None  # a decorator that calls the decorated function calls the function itself
    found = machine.wrappers[info] = _wrapper(machine, info)
    return found


def _wrapper(machine: Machine, info: FunctionInfo) -> Function | None:
    made: Function | None = None
    with machine.quietly():
        for decorator in reversed(info.decorators):
            if not _may_be_local(info, decorator):
                continue
            frame = Frame(info.module)
            applied = machine.evaluate(frame, decorator).object
            if not isinstance(applied, Function):
                continue
            given = of_object(made or Function(info, bare=True), "decorated", id(info))
            outcome = machine.call(applied, (given,), (), frame, site_of(info.module, decorator))
            result = outcome.value.object if outcome is not None else None
            if not isinstance(result, Function) or result.info is info:
                return None
            made = result
    return made


def _may_be_local(info: FunctionInfo, decorator: ast.expr) -> bool:
    """Whether the decorator may be defined in the project: its name is not one of Python's own."""
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


def attach(machine: Machine, frame: Frame, info: FunctionInfo, function: Value) -> None:
    """What only some ranks hand over by a decorator: `@trainer.on(Events.COMPLETED)`."""
    for decorator in info.decorators:
        called = decorator.func if isinstance(decorator, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in hooks.DECORATING:
            owner = machine.evaluate(frame, called.value)
            made = Attached(function, owner, machine.site(frame, decorator), machine.context(frame))
            machine.attached.append(made)


def run(machine: Machine, info: FunctionInfo, env: dict[str, Value]) -> Trace | None:
    """Simulate a function that nothing calls through its decorators; None if they do not lead into it."""
    wrapper = decorated(machine, info)
    if wrapper is None:
        return None
    frame = Frame(info.module, calls=(info.qualname,))
    site = site_of(info.module, info.decorators[0])
    try:
        outcome = machine.call(wrapper, tuple(env[p.arg] for p in info.parameters), (), frame, site)
    except RecursionError:
        machine.too_deep = True
        return None
    if info not in machine.ran or outcome is None:
        return None
    return (Scope(info.name, outcome.trace, site),)


def apply_decorators(machine: Machine, frame: Frame, info: modules.FunctionInfo) -> None:
    """Apply what decorators say about the body: only rank 0 runs it, or it computes no gradients."""
    for decorator in info.decorators:
        name = decorator_name(decorator)
        if name in vocabulary.WITHOUT_GRADIENTS:
            frame.no_grad = True
            continue
        let_in = ranks_let_in(machine, frame, decorator)
        if let_in == FIRST_RANK.atoms:
            site = machine.site(frame, decorator)
            leave: tuple[Node, ...] = (BlockExit("return", site),)
            frame.out.append(Branch(let_in, (), leave, site, f"@{name}", NO_TAGS))
            frame.mask &= RANK_ZERO


def ranks_let_in(machine: Machine, frame: Frame, decorator: ast.expr) -> tuple[Atom, ...]:
    """The ranks on which a framework's decorator runs the function; None if it does not depend on the rank."""
    name = decorator_name(decorator)
    if name not in vocabulary.FIRST_RANK_DECORATORS and name not in vocabulary.SOME_RANK_DECORATORS:
        return ()
    call = decorator if isinstance(decorator, ast.Call) else None
    if _is_local(machine, frame, call.func if call is not None else decorator):
        return ()
    given = call is not None and (call.args or any("rank" in str(k.arg) for k in call.keywords))
    if given or name in vocabulary.SOME_RANK_DECORATORS:
        return (symbol("decorator", id(decorator), taint=Taint.RANK),)  # perhaps another rank
    return FIRST_RANK.atoms


def _is_local(machine: Machine, frame: Frame, target: ast.expr) -> bool:
    """Whether a decorator is the project's own, which may do more than its name says, such as disabling barriers."""
    return isinstance(machine.evaluate(Frame(frame.module), target).object, Function)
