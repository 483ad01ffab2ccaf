"""Pure. What in a loop leaves it before its head ends it."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ddpdoctor.program.nodes import children
from ddpdoctor.program.turn_counters import LOOPS, SCOPES


def _nothing(_: ast.AST) -> bool:
    return False


def leaves(loop: ast.AST, without: Callable[[ast.AST], bool] = _nothing) -> bool:
    """Whether a `break` or `return` of the loop's body leaves it; nodes that `without` is true of are passed over."""
    return any(_leaves(child, without, in_loop=False) for child in children(loop))


def _leaves(node: ast.AST, without: Callable[[ast.AST], bool], *, in_loop: bool) -> bool:
    if isinstance(node, SCOPES) or without(node):
        return False
    if isinstance(node, ast.Return) or (isinstance(node, ast.Break) and not in_loop):
        return True
    inner = in_loop or isinstance(node, LOOPS)
    return any(_leaves(child, without, in_loop=inner) for child in children(node))
