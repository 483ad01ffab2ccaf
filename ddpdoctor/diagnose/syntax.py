"""What single statements do: the lines they stand on, what they call, yield and return."""

from __future__ import annotations

import ast
from collections.abc import Iterator

#: Methods that everything has: a call of one says nothing about which function is meant.
_COMMON = frozenset({"step", "forward", "backward", "train", "eval", "zero_grad", "update", "get", "close"})


def takes_all(case: ast.match_case) -> bool:
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def returned(stmt: ast.AST | None) -> bool | None:
    """Whether a `return` gives something true; None where that is not known."""
    if not isinstance(stmt, ast.Return):
        return None
    if stmt.value is None:
        return False
    return bool(stmt.value.value) if isinstance(stmt.value, ast.Constant) else None


def lines_of(stmt: ast.AST | None) -> tuple[int, int]:
    if stmt is None:
        return 0, -1
    first = int(getattr(stmt, "lineno", 0))
    if hasattr(stmt, "body") or isinstance(stmt, ast.Match):
        return first, max((part.end_lineno or first for part in head(stmt)), default=first)
    return first, int(getattr(stmt, "end_lineno", None) or first)


def head(stmt: ast.AST) -> Iterator[ast.expr]:
    """The expressions that the statement itself evaluates, not those of the statements inside it."""
    match stmt:
        case ast.If() | ast.While():
            yield stmt.test
        case ast.For() | ast.AsyncFor():
            yield stmt.iter
        case ast.With() | ast.AsyncWith():
            yield from (item.context_expr for item in stmt.items)
        case ast.Match():
            yield stmt.subject
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.ExceptHandler():
            return
        case _:
            yield from (child for child in ast.iter_child_nodes(stmt) if isinstance(child, ast.expr))


def called_by(stmt: ast.AST | None) -> Iterator[str]:
    """Names of functions that a statement calls, without methods of which anything may be meant."""
    for part in head(stmt) if stmt else ():
        for node in ast.walk(part):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield node.func.id
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr not in _COMMON:
                yield node.func.attr


def names_called(expression: ast.expr) -> list[str]:
    """Last names of all that an expression calls: `model.train()` -> train."""
    targets = [node.func for node in ast.walk(expression) if isinstance(node, ast.Call)]
    return [t.attr if isinstance(t, ast.Attribute) else getattr(t, "id", "") for t in targets]


def yields_all(stmt: ast.AST | None) -> bool:
    return any(isinstance(node, ast.YieldFrom) for part in (head(stmt) if stmt else ()) for node in ast.walk(part))


def yields(stmt: ast.AST | None) -> bool:
    parts = head(stmt) if stmt else ()
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for part in parts for node in ast.walk(part))
