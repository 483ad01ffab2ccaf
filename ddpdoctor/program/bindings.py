"""Which names a node of a syntax tree gives a meaning, in whatever scope. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.program.enclosing import FUNCTIONS


def bound_by(node: ast.AST) -> Iterator[str]:
    """The names that a node itself binds or takes away, "*" for all those of a module; not those of its parts."""
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Load):
            yield node.id
    elif isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        yield node.name or ""
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from ((one.asname or one.name).partition(".")[0] for one in node.names)
    elif isinstance(node, (ast.Global, ast.Nonlocal)):
        yield from node.names
