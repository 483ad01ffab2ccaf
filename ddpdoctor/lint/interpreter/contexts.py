"""`with` blocks: a context manager of the project is its code before and after the `yield`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from ddpdoctor.lint.interpreter.classes import find_method
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.interpreter.trace import BlockExit, Scope
from ddpdoctor.lint.knowledge import frameworks, vocabulary
from ddpdoctor.lint.values.abstract_objects import Function, Given, Instance, Made, Method
from ddpdoctor.lint.values.values import Value
from ddpdoctor.program.modules import FunctionInfo, Module, once
from ddpdoctor.program.nodes import last_name, walk

#: gradients may or may not be synchronised in this block: `with model.no_sync() if ... else nullcontext():`
MAYBE_UNSHARED = "no_sync, or not"


#: blocks in which calls mean something else: gradients stay where they are, parameters are whole
_TELLING = frameworks.UNSHARED | {MAYBE_UNSHARED, "summon_full_params"}


def asked(frame: Frame) -> frozenset[str]:
    """The blocks around a call on which it depends what a function does."""
    return _TELLING.intersection(frame.withs) if frame.withs else frozenset()


def enter(machine: Machine, frame: Frame, item: ast.withitem, value: Value) -> Callable[[], None]:
    """Enter the context; the returned function is to be called when the block ends."""
    name = _name(frame, value, item.context_expr)
    if name in vocabulary.WITHOUT_GRADIENTS or _turns_off(value):
        frame.no_grad = True
    frame.withs = (*frame.withs, name)
    if isinstance(value.object, Instance):
        return _enter_instance(machine, frame, item, value, value.object)
    release = _hold(machine, _generator(machine, frame, item.context_expr))
    after = _split(frame, item)

    def leave() -> None:
        after()
        release()

    return leave


def _turns_off(context: Value) -> bool:
    """Whether it is `torch.set_grad_enabled(training)`, where nothing is trained."""
    made = context.object
    if not isinstance(made, Made) or made.path != "torch.set_grad_enabled":
        return False
    mode = made.argument(0, "mode")
    return mode is not None and mode.constant is False


def _generator(machine: Machine, frame: Frame, node: ast.expr) -> FunctionInfo | None:
    """The generator function that is called for a context manager."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
        return None
    obj = machine.evaluate(frame, node.func).object
    return obj.info if isinstance(obj, Function) else None


def _name(frame: Frame, value: Value, node: ast.expr) -> str:
    one_of = {_called(each) for each in _alternatives(frame, node)}
    if len(one_of) > 1 and "no_sync" in one_of:
        return MAYBE_UNSHARED
    if len(one_of) > 1 and isinstance(node, ast.IfExp):
        return ""
    if isinstance(value.object, Made):
        return value.object.path.rpartition(".")[2]
    if isinstance(value.object, Method):
        return value.object.name
    return one_of.pop() if len(one_of) == 1 else _called(node)


def _called(node: ast.expr) -> str:
    return last_name(node.func if isinstance(node, ast.Call) else node)


def _alternatives(frame: Frame, node: ast.expr, depth: int = 2) -> Iterator[ast.expr]:
    """What makes the context that an expression gives, on either side of a condition, also through a variable that a
    function assigns: `context = nullcontext() if last else model.no_sync()`."""
    if isinstance(node, ast.IfExp):
        yield from _alternatives(frame, node.body, depth)
        yield from _alternatives(frame, node.orelse, depth)
        return
    scope = frame.function.node if frame.function is not None else frame.module.tree
    made = _assigned(frame.module, scope, node.id) if isinstance(node, ast.Name) and depth else ()
    for value in made:
        yield from _alternatives(frame, value, depth - 1)
    if not made:
        yield node


@once
def _assigned(_module: Module, scope: ast.AST, name: str) -> tuple[ast.expr, ...]:
    """What a function, or a file outside of functions, assigns to a variable."""
    plain = (n for n in walk(scope) if isinstance(n, ast.Assign))
    return tuple(n.value for n in plain if any(isinstance(t, ast.Name) and t.id == name for t in n.targets))


def _enter_instance(
    machine: Machine, frame: Frame, item: ast.withitem, value: Value, obj: Instance
) -> Callable[[], None]:
    site = machine.site(frame, item.context_expr)
    first = find_method(machine, obj.info, "__enter__")
    last = find_method(machine, obj.info, "__exit__")
    if first is not None:
        machine.follow(frame, Function(first, value), Given((), (), site))
    release = _hold(machine, first)

    def leave() -> None:
        if last is not None:
            machine.follow(frame, Function(last, value), Given((), (), site))
        release()

    return leave


def _hold(machine: Machine, entered: FunctionInfo | None) -> Callable[[], None]:
    """Apply `global DEPTH; DEPTH += 1` for the block, so that code in it can tell that it is inside."""
    before = machine.held
    if entered is not None and entered.outer:
        machine.held = before.union(_held(machine, entered))

    def release() -> None:
        machine.held = before

    return release


def _held(machine: Machine, entered: FunctionInfo) -> Iterator[tuple[str, str, object]]:
    """The globals of its file that a function sets, before its `yield` if it has one."""
    module = entered.module
    for statement in entered.body:
        if not isinstance(statement, (ast.Assign, ast.AugAssign)):
            if isinstance(statement, ast.Global) or _is_text(statement):
                continue
            return
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        if not isinstance(target, ast.Name) or (module.path, target.id) not in machine.rebound:
            continue
        constant = _constant(module, statement, target.id)
        if constant is not None:
            yield module.path, target.id, constant


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _constant(module: Module, statement: ast.Assign | ast.AugAssign, name: str) -> object:
    """The value that the statement assigns to the name: a constant, or one more than the initial value."""
    if not isinstance(statement.value, ast.Constant):
        return None
    if isinstance(statement, ast.Assign):
        return statement.value.value
    starts = [b.value for b in module.bindings.get(name, ())]
    start = starts[0].value if len(starts) == 1 and isinstance(starts[0], ast.Constant) else None
    more = statement.value.value
    if not isinstance(statement.op, ast.Add) or not isinstance(start, int) or not isinstance(more, int):
        return None
    return start + more


def _split(frame: Frame, item: ast.withitem) -> Callable[[], None]:
    """The generator was simulated as one call; move what it does after its `yield` behind the block."""
    if not isinstance(item.context_expr, ast.Call) or not frame.out or not isinstance(frame.out[-1], Scope):
        return lambda: None
    scope = frame.out[-1]
    call = item.context_expr
    if scope.site.line != call.lineno:
        return lambda: None
    at = next((i for i, n in enumerate(scope.body) if isinstance(n, BlockExit) and n.kind == "yield"), None)
    if at is None:
        return lambda: None
    before, after = scope.body[:at], scope.body[at + 1 :]
    frame.out[-1:] = [Scope(scope.name, before, scope.site)] if before else []

    def leave() -> None:
        if after:
            frame.out.append(Scope(scope.name, after, scope.site))

    return leave
