"""Draws of which the sample decides how many numbers they take: ranks that begin alike are soon apart."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ddpdoctor.lint.knowledge import randomness
from ddpdoctor.program.nodes import walk

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def asks(function: ast.AST, path: str, call: ast.Call) -> bool:
    """Whether a call of a function by this path takes as many numbers as an argument asks for that the sample decides:
    `random.randint(0, len(text))` draws again what is beyond its range."""
    if path not in randomness.DRAWN_UNTIL_IN_RANGE or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    return _depends(function, [*call.args, *(keyword.value for keyword in call.keywords)])


def _depends(function: _Function, given: list[ast.expr]) -> bool:
    """Whether one of the expressions of a function is made of what the function is given."""
    parameters = {a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    stored = list(_stored(function))
    known: set[str] = set()
    names = _names(given)
    while new := names - known:
        if new & (parameters - {"self", "cls"}):
            return True
        known |= new
        names = _names(value for targets, value in stored if targets & new)
    return False


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    return {n.id for node in nodes for n in walk(node) if isinstance(n, ast.Name)}


def _stored(function: _Function) -> Iterator[tuple[set[str], ast.expr]]:
    """The variables in which the function stores something, with what it stores in them or takes them from."""
    for node in walk(function):
        if isinstance(node, ast.Assign):
            yield _names(node.targets), node.value
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            yield _names([node.target]), node.iter
