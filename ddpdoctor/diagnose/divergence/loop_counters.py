"""Conditions on a loop's counter: where ranks go round together and it still differs, they began to count elsewhere."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import last_name, names_in, walk


@dataclass(frozen=True, slots=True)
class CounterStart:
    """Where a loop's counter gets its first value."""

    counter: str
    #: the assignment of the value, or the loop's head if the value is computed there
    site: Site


def counter_start(facts: Facts, condition: Site) -> CounterStart | None:
    """The start of the counter that the condition tests, if it tests nothing else that changes from round to round."""
    chain = enclosing.around(facts.program, condition)
    test = next((node.test for node in chain if isinstance(node, ast.If) and node.lineno == condition.line), None)
    loop = next((node for node in chain if isinstance(node, ast.For)), None)
    start = _start(loop) if loop is not None else None
    counter = _counter(loop) if loop is not None else ""
    if test is None or loop is None or start is None or not _tests_only(test, counter, loop):
        return None
    given = _assigned(facts, condition, start.id, loop) if isinstance(start, ast.Name) else _computed(start, loop)
    return CounterStart(counter, replace(condition, line=given)) if given is not None else None


def _counter(loop: ast.For) -> str:
    """`step` of `for step in range(...)` and of `for step, batch in enumerate(...)`."""
    target = loop.target
    return last_name(target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target)


def _start(loop: ast.For) -> ast.expr | None:
    """The first value of the loop's counter, where it is written."""
    match loop.iter:
        case ast.Call(func=ast.Name(id="range"), args=[start, _, *_]):
            return start
        case ast.Call(func=ast.Name(id="enumerate"), args=[_, start]):
            return start
        case ast.Call(func=ast.Name(id="enumerate"), keywords=[ast.keyword(arg="start", value=start)]):
            return start
    return None


def _tests_only(test: ast.expr, counter: str, loop: ast.For) -> bool:
    names = names_in(test)
    changed = {name for body in loop.body for name in _stored(body)}
    called = any(isinstance(node, ast.Call) for node in walk(test))
    return counter in names and not called and not (names - {counter}) & changed


def _stored(tree: ast.AST) -> list[str]:
    return [node.id for node in walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def _assigned(facts: Facts, inside: Site, name: str, loop: ast.For) -> int | None:
    """The line of the only assignment of a name in the function, if it computes the value before the loop."""
    function = enclosing.function_around(facts.program, inside)
    if function is None or _stored(function).count(name) != 1:
        return None
    given = (node for node in walk(function) if isinstance(node, ast.Assign) and name in _stored(node))
    return next((line for node in given if (line := _computed(node.value, node)) and line < loop.lineno), None)


def _computed(value: ast.expr, statement: ast.stmt) -> int | None:
    """The line of the statement if it calls something for the value: a constant is equal on all ranks."""
    return statement.lineno if any(isinstance(node, ast.Call) for node in walk(value)) else None
