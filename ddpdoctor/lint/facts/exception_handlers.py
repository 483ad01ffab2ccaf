"""Exception handlers: whether one catches an exception that one rank may get alone, and whether the rank continues."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.text import text_of

#: Exceptions that one rank may get alone: memory, files, data. Not an API that is missing everywhere.
LOCAL_EXCEPTIONS = frozenset({
    "Exception", "BaseException", "RuntimeError", "OSError", "IOError", "FileNotFoundError", "MemoryError",
    "OutOfMemoryError", "ValueError", "ConnectionError", "TimeoutError", "EOFError", "ZeroDivisionError",
    "FloatingPointError", "PermissionError", "LinAlgError",
})  # fmt: skip

#: decorators that log what their function raises, and let it return (loguru 0.7)
_CATCHING = frozenset({"loguru.logger.catch"})
#: what they are told only about the log, and what is returned in place of the result
_TELLING = ("level", "message", "default")


def lines_of(body: list[ast.stmt]) -> tuple[int, int]:
    """First and last line of statements."""
    return body[0].lineno, body[-1].end_lineno or body[-1].lineno


_REFUSALS = frozenset({"ValueError", "TypeError", "KeyError", "AttributeError", "LookupError", "NotImplementedError"})


def catches_local(handler: ast.ExceptHandler) -> bool:
    """Whether it catches an exception that one rank may get alone."""
    kinds = handler.type
    if kinds is None:
        return True
    return bool(catches(handler) & LOCAL_EXCEPTIONS)


def catches(handler: ast.ExceptHandler) -> set[str]:
    """Names of the exceptions that it catches, "" for an exception without a name."""
    kinds = handler.type
    elements: Iterable[ast.expr] = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds] if kinds else []
    return {last_name(e) for e in elements}


def catches_all(module: Module, decorator: ast.expr) -> bool:
    """Whether a decorator catches what its function raises, tells of it, and does nothing else: `@logger.catch`."""
    call = decorator if isinstance(decorator, ast.Call) else None
    told = [*call.args, *call.keywords] if call is not None else []
    kinds = [part for part in told if not isinstance(part, ast.keyword) or part.arg not in _TELLING]
    return not kinds and module.imported(call.func if call is not None else decorator) in _CATCHING


def about_arguments(handler: ast.ExceptHandler) -> bool:
    """Whether it catches only exceptions about a call's arguments: every rank with the same arguments gets them."""
    kinds = handler.type
    elements: Iterable[ast.expr] = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds] if kinds else []
    names = {last_name(e) for e in elements}
    return bool(names) and names <= _REFUSALS


def acts(handler: ast.ExceptHandler) -> bool:
    """Whether something in it may end the process or inform the other ranks."""
    names = (last_name(n.func) for n in walk(handler) if isinstance(n, ast.Call))
    return heuristics.ACTS.found_in_any(names)


def goes_on(body: list[ast.stmt], *, after_return: bool) -> bool:
    """Whether the rank may continue the loop after these statements. `after_return`: the loop is in a caller."""
    return any(_outcomes(body, after_return=after_return))


def _outcomes(body: list[ast.stmt], *, after_return: bool) -> tuple[bool, bool]:
    """(some path continues the loop, some path reaches the end of the statements)."""
    on = False
    for statement in body:
        if isinstance(statement, (ast.Raise, ast.Break, ast.Continue, ast.Return)):
            again = isinstance(statement, ast.Continue) or (after_return and isinstance(statement, ast.Return))
            return on or again, False
        inner = _ways_through(statement, after_return=after_return)
        if not all(map(any, inner)) and _decides_together(statement):
            return False, False
        on = on or any(one for one, _ in inner)
        if not any(end for _, end in inner):
            return on, False
    return on, True


def _decides_together(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and heuristics.GIVES_UP_TOGETHER.found_in(text_of(statement.test))


def _ways_through(statement: ast.stmt, *, after_return: bool) -> list[tuple[bool, bool]]:
    """The outcomes of each side of a statement."""
    if isinstance(statement, ast.If):
        return [_outcomes(side, after_return=after_return) for side in (statement.body, statement.orelse)]
    if isinstance(statement, (ast.With, ast.AsyncWith, ast.Try)):
        return [_outcomes(statement.body, after_return=after_return)]
    return [(False, True)]


def trains(body: list[ast.stmt]) -> bool:
    """Whether it contains a call whose name suggests training or evaluation."""
    names = (last_name(n.func) for s in body for n in walk(s) if isinstance(n, ast.Call))
    return heuristics.TRAINS.found_in_any(names)


def remembered(handler: ast.ExceptHandler, after: list[ast.stmt]) -> bool:
    """Whether the handler assigns a name that statements after the `try` read: they may inform the other ranks."""
    stored = {n.id for n in walk(handler) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return any(stored & names_in(s) for s in after)


def bound_in(node: ast.Try) -> set[str]:
    """Names and attributes that the `try` block or its handlers assign, and that therefore depend on its success."""
    blocks = [*node.body, *node.orelse, *(s for h in node.handlers for s in h.body)]
    names = {h.name for h in node.handlers if h.name}
    for block in blocks:
        for inner in walk(block):
            if isinstance(inner, (ast.Name, ast.Attribute)) and isinstance(inner.ctx, ast.Store):
                names.add(last_name(inner))
    return names


def names_in(node: ast.AST) -> set[str]:
    """Names and attributes that occur in an expression."""
    found = (n for n in walk(node) if isinstance(n, (ast.Name, ast.Attribute)))
    return {last_name(n) for n in found}


def tells_caller(handler: ast.ExceptHandler) -> bool:
    """Whether it ends the function with a value of its own, such as `return False`, unless it raises."""
    returned = [n.value for n in walk(handler) if isinstance(n, ast.Return)]
    parts = (p for value in returned for p in (value.elts if isinstance(value, ast.Tuple) else [value]))
    return bool(returned) and not goes_on(handler.body, after_return=False) and all(
        isinstance(part, ast.Constant) for part in parts
    )  # fmt: skip


def calls_in(loop: ast.For | ast.While, name: str) -> bool:
    """Whether a loop calls the function of this name."""
    return any(isinstance(n, ast.Call) and last_name(n.func) == name for s in loop.body for n in walk(s))


def ends_with(loop: ast.For | ast.While, name: str) -> bool:
    """Whether a loop ends where what the function of this name returned says so: `if not done: break`."""
    results: set[str] = set()
    for statement in loop.body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(n, ast.Call) and last_name(n.func) == name for n in walk(statement.value)
        ):
            results |= {n.id for target in statement.targets for n in walk(target) if isinstance(n, ast.Name)}
        elif isinstance(statement, ast.If) and results & names_in(statement.test):
            sides = [side for side in (statement.body, statement.orelse) if side]
            return any(isinstance(side[-1], (ast.Break, ast.Return, ast.Raise)) for side in sides)
    return False
