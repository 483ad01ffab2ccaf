"""`try` statements: whether a handler takes what one rank may meet alone, and whether the rank goes on after it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from ddpdoctor.program.nodes import last_name, walk

#: what one rank may meet while the others do not: memory, files, data. Not an API that is missing everywhere.
LOCAL_EXCEPTIONS = frozenset({
    "Exception", "BaseException", "RuntimeError", "OSError", "IOError", "FileNotFoundError", "MemoryError",
    "OutOfMemoryError", "ValueError", "ConnectionError", "TimeoutError", "EOFError", "ZeroDivisionError",
    "FloatingPointError", "PermissionError",
})  # fmt: skip
#: words of a condition under which a handler gives up on purpose where there are other ranks
_TOGETHER = re.compile(r"dist|world|rank|ddp|parallel|num_proc|multi|initiali[sz]ed", re.IGNORECASE)
#: calls in a handler that may end the process, or tell the other ranks
_ACTS = re.compile(
    r"exit|abort|kill|fail|raise|die|terminate|sync|barrier|reduce|broadcast|gather|shutdown|recover|restart|signal"
    r"|store|put|send|notify|stop",
    re.IGNORECASE,
)
#: calls that train or evaluate, and so run collectives even where they cannot be seen
_TRAINS = re.compile(r"(^|_)(train(ing)?|fit|step|backward|epoch|run|loop|eval(uate)?)(_|$)|^main$", re.IGNORECASE)


def lines_of(body: list[ast.stmt]) -> tuple[int, int]:
    """First and last line of statements."""
    return body[0].lineno, body[-1].end_lineno or body[-1].lineno


_REFUSALS = frozenset({"ValueError", "TypeError", "KeyError", "AttributeError", "LookupError", "NotImplementedError"})


def catches_local(handler: ast.ExceptHandler) -> bool:
    """Whether it takes an exception that one rank may meet alone."""
    kinds = handler.type
    if kinds is None:
        return True
    return bool(catches(handler) & LOCAL_EXCEPTIONS)


def catches(handler: ast.ExceptHandler) -> set[str]:
    """Names of the exceptions that it takes, "" for what has none."""
    kinds = handler.type
    elements: Iterable[ast.expr] = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds] if kinds else []
    return {last_name(e) for e in elements}


def about_arguments(handler: ast.ExceptHandler) -> bool:
    """Whether it takes only what a call is refused for: whoever calls with the same is refused as well."""
    kinds = handler.type
    elements: Iterable[ast.expr] = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds] if kinds else []
    names = {last_name(e) for e in elements}
    return bool(names) and names <= _REFUSALS


def acts(handler: ast.ExceptHandler) -> bool:
    """Something in it may end the process or reach the other ranks."""
    names = (last_name(n.func) for n in walk(handler) if isinstance(n, ast.Call))
    return any(_ACTS.search(name) for name in names)


def goes_on(body: list[ast.stmt], *, after_return: bool) -> bool:
    """Whether the rank may go round the loop again after these statements. `after_return`: a caller has the loop."""
    return any(_outcomes(body, after_return=after_return))


def _outcomes(body: list[ast.stmt], *, after_return: bool) -> tuple[bool, bool]:
    """(some way through goes on with the loop, some way comes out at the end)."""
    on = False
    for statement in body:
        if isinstance(statement, (ast.Raise, ast.Break)):
            return on, False
        if isinstance(statement, ast.Continue):
            return True, False
        if isinstance(statement, ast.Return):
            return on or after_return, False
        inner = [(False, True)]
        if isinstance(statement, ast.If):
            inner = [_outcomes(side, after_return=after_return) for side in (statement.body, statement.orelse)]
            if not all(map(any, inner)) and _TOGETHER.search(ast.unparse(statement.test)):
                return False, False
        elif isinstance(statement, (ast.With, ast.AsyncWith, ast.Try)):
            inner = [_outcomes(statement.body, after_return=after_return)]
        on = on or any(one for one, _ in inner)
        if not any(end for _, end in inner):
            return on, False
    return on, True


def trains(body: list[ast.stmt]) -> bool:
    """A call in it has the name of something that trains or evaluates."""
    names = (last_name(n.func) for s in body for n in walk(s) if isinstance(n, ast.Call))
    return any(_TRAINS.search(name) for name in names)


def remembered(handler: ast.ExceptHandler, after: list[ast.stmt]) -> bool:
    """The handler assigns a name that statements behind the `try` read: they may tell the other ranks."""
    stored = {n.id for n in walk(handler) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return any(stored & names_in(s) for s in after)


def bound_in(node: ast.Try) -> set[str]:
    """Names and attributes that the guarded block or its handlers assign: they tell how it went."""
    blocks = [*node.body, *node.orelse, *(s for h in node.handlers for s in h.body)]
    names = {h.name for h in node.handlers if h.name}
    for block in blocks:
        for inner in walk(block):
            if isinstance(inner, (ast.Name, ast.Attribute)) and isinstance(inner.ctx, ast.Store):
                names.add(inner.id if isinstance(inner, ast.Name) else inner.attr)
    return names


def names_in(node: ast.AST) -> set[str]:
    """Names and attributes that occur in an expression."""
    found = (n for n in walk(node) if isinstance(n, (ast.Name, ast.Attribute)))
    return {n.id if isinstance(n, ast.Name) else n.attr for n in found}
