"""Pure. Variables that count the turns of a loop, as its source shows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeAlias

from ddpdoctor.model.record import record
from ddpdoctor.program.nodes import children, last_name, walk

Loop: TypeAlias = ast.For | ast.AsyncFor | ast.While
LOOPS = (ast.For, ast.AsyncFor, ast.While)
#: iterables whose first item counts
_COUNTING = frozenset({"range", "trange", "enumerate", "count"})
#: give the items of their first argument, all or the first of them
_HANDING_ON = frozenset({"tqdm", "track", "islice"})
#: what has jumps of its own
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@record(frozen=True, slots=True)
class TurnCounter:
    """A variable of which the source shows how many turns of one loop were begun, whatever its value is."""

    name: str
    #: the value in the first turn, or before it where a line in the loop counts
    start: int
    step: int
    #: the line in the loop that counts; 0: the head gives the variable each value
    counts_at: int = 0

    def begun(self, value: int, line: int) -> int | None:
        """The turns that were begun if the variable has this value at this line; None for a value that it never has."""
        turns, rest = divmod(value - self.start, self.step)
        if rest or turns < 0:
            return None
        return turns if 0 < self.counts_at < line else turns + 1

    def after(self, value: int) -> int | None:
        """The turns that a rank has made which has left the loop with this value."""
        return self.begun(value, self.counts_at + 1)


def names(loop: Loop) -> Iterator[str]:
    """`step` of `for step in range(9)`, of `for step, batch in enumerate(loader)` and of `step += 1` in its body."""
    counting = _counting(loop.iter, loop.target) if isinstance(loop, ast.For) else None
    if counting is not None:
        yield counting[1].id
    for statement in loop.body:
        match statement:
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.Constant(value=1)):
                yield name


def counts_every_turn(loop: Loop, name: str) -> bool:
    """Whether `name += 1` stands in the loop's body (a variable, or an attribute of this name), and nothing leads to
    another turn or out of the loop past it."""
    return any(
        isinstance(one, ast.AugAssign)
        and isinstance(one.op, ast.Add)
        and last_name(one.target) == name
        and not any(_jumps(part, one.lineno) for part in loop.body)
        for one in loop.body
    )


def _counting(iterable: ast.expr, target: ast.expr) -> tuple[ast.Call, ast.Name] | None:
    """The call that counts, and the variable that gets the number: of `enumerate(...)` and `range(...)`, also in
    `tqdm(...)` and as one of those that `zip(...)` goes over."""
    match iterable:
        case ast.Call(func=function, args=[inner, *_]) if last_name(function) in _HANDING_ON:
            return _counting(inner, target)
        case ast.Call(func=function, args=parts) if last_name(function) == "zip":
            sides = zip(parts, target.elts, strict=False) if isinstance(target, ast.Tuple) else ()
            return next((found for part, side in sides if (found := _counting(part, side)) is not None), None)
        case ast.Call(func=function) if last_name(function) in _COUNTING:
            first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
            return (iterable, first) if isinstance(first, ast.Name) else None
    return None


def kept_until(scope: ast.AST, loop: Loop, name: str) -> int:
    """The last line of the scope (a function, a module) at which the variable still counts this loop's turns: the end
    of the scope, or that of the loop if the variable is given another value after it.
    """
    last = loop.end_lineno or loop.lineno
    again = any(node.lineno > last for node in _given(scope, name))
    return last if again else max(getattr(scope, "end_lineno", None) or 0, last)


def turn_counters(scope: ast.AST, loop: Loop) -> Iterator[TurnCounter]:
    """The counters of the loop that begin at a constant and count every turn."""
    for name in dict.fromkeys(names(loop)):
        last = loop.end_lineno or loop.lineno
        inside = [node for node in _given(scope, name) if loop.lineno <= node.lineno <= last]
        if len(inside) == 1 and kept_until(scope, loop, name) >= last:
            found = _of_head(loop, name) or _of_body(scope, loop, name)
            if found is not None:
                yield found


def _of_head(loop: Loop, name: str) -> TurnCounter | None:
    counting = _counting(loop.iter, loop.target) if isinstance(loop, ast.For) else None
    if counting is None or counting[1].id != name:
        return None
    match counting[0]:
        case ast.Call(func=function, args=[_] | [], keywords=keywords) if last_name(function) in _COUNTING:
            start = next((one.value for one in keywords if one.arg == "start"), None)
            counts_from = counting[0].args[0] if last_name(function) == "count" and counting[0].args else start
            return _counter(name, counts_from, None)
        case ast.Call(func=function, args=[_, start]) if last_name(function) == "enumerate":
            return _counter(name, start, None)
        case ast.Call(func=function, args=[start, _]) if last_name(function) in ("range", "trange"):
            return _counter(name, start, None)
        case ast.Call(func=function, args=[start, _, step]) if last_name(function) in ("range", "trange"):
            return _counter(name, start, step)
    return None


def _counter(name: str, start: ast.expr | None, step: ast.expr | None) -> TurnCounter | None:
    """None where the first value or the step is written as anything but a number: it may differ between ranks."""
    values = [_number(one) if one is not None else default for one, default in ((start, 0), (step, 1))]
    first, by = values
    return TurnCounter(name, first, by) if first is not None and by else None


def _of_body(scope: ast.AST, loop: Loop, name: str) -> TurnCounter | None:
    """`step = 0` before the loop and `step += 1` in it, past which nothing leads to another turn or out of the loop."""
    before = [node for node in walk(scope) if isinstance(node, ast.Assign) and node.lineno < loop.lineno]
    given = [node.value for node in before if name in map(last_name, node.targets)]
    adds = next((one for one in loop.body if isinstance(one, ast.AugAssign) and last_name(one.target) == name), None)
    earlier = [node for node in _given(scope, name) if node.lineno < loop.lineno]
    if adds is None or len(given) != 1 or len(earlier) != 1 or any(_jumps(part, adds.lineno) for part in loop.body):
        return None
    start = _number(given[0])
    return TurnCounter(name, start, 1, adds.lineno) if start is not None else None


def _jumps(node: ast.AST, before: int) -> bool:
    """Whether a part of the loop's body can end the turn or leave the loop on a line before this one."""
    if getattr(node, "lineno", 0) >= before or isinstance(node, SCOPES):
        return False
    own = isinstance(node, (ast.Continue, ast.Break, ast.Return))
    return own or any(_jumps(child, before) for child in children(node))


def _number(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
    return None


def _given(scope: ast.AST, name: str) -> list[ast.Name]:
    """Where the variable is given a value, or deleted."""
    return [node for node in walk(scope) if isinstance(node, ast.Name) and node.id == name and _writes(node)]


def _writes(node: ast.Name) -> bool:
    return isinstance(node.ctx, (ast.Store, ast.Del))
