"""Draws of which the sample decides how many numbers they take: ranks that begin alike are soon apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.knowledge import randomness
from ddpdoctor.program.nodes import walk

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def asks(function: ast.AST, path: str, call: ast.Call) -> bool:
    """Whether a call of a function by this path takes as many numbers as an argument asks for that the sample decides:
    `random.randint(0, len(text))` draws again what is beyond its range."""
    if path not in randomness.DRAWN_UNTIL_IN_RANGE or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    return any(_depends(function, argument, frozenset()) for argument in given)


def _depends(function: _Function, node: ast.AST, known: frozenset[str]) -> bool:
    """Whether an expression of a function is made of what the function is given; `known`: names that are looked at
    already."""
    names = {n.id for n in walk(node) if isinstance(n, ast.Name)} - known
    parameters = {a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    if names & (parameters - {"self", "cls"}):
        return True
    return any(_depends(function, value, known | names) for value in _stored(function, names))


def _stored(function: _Function, names: set[str]) -> Iterator[ast.AST]:
    """What the function stores in variables, or takes them from."""
    for node in walk(function):
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            targets, value = [node.target], node.iter
        else:
            continue
        if any(isinstance(n, ast.Name) and n.id in names for target in targets for n in walk(target)):
            yield value
