"""Where what a function of the project gives is taken apart into another number of names, which is an error. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from ddpdoctor.lint.deferred.called_functions import Defined
from ddpdoctor.program.enclosing import FUNCTIONS
from ddpdoctor.program.modules import FunctionNode
from ddpdoctor.program.nodes import children


def mismatch(node: ast.Assign, called: Mapping[str, Defined]) -> str:
    """What ends in an error where an assignment takes apart what a function gives, every way out of which gives a
    display of values; "" if nothing does.

    Args:
        node: The assignment.
        called: The project's own functions by the names by which the program calls them.
    """
    targets, value = node.targets[0], node.value
    if not isinstance(targets, ast.Tuple) or any(isinstance(target, ast.Starred) for target in targets.elts):
        return ""
    name = value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""
    function = called[name].node if name in called else None
    given = _given(function) if isinstance(function, FUNCTIONS) else frozenset()
    taken = len(targets.elts)
    if not given or taken in given:
        return ""
    return f"{name} gives {' or '.join(map(str, sorted(given)))} values, of which {taken} are taken"


def _given(function: FunctionNode) -> frozenset[int]:
    """How many values its ways out give; none if one gives anything else than a display of values."""
    own = list(_own(function.body))
    returned = [node.value for node in own if isinstance(node, ast.Return)]
    plain = [value for value in returned if isinstance(value, ast.Tuple) and not _has_starred(value)]
    otherwise = isinstance(function, ast.AsyncFunctionDef) or any(
        isinstance(n, (ast.Yield, ast.YieldFrom)) for n in own
    )
    if otherwise or len(plain) < len(returned):
        return frozenset()
    return frozenset(len(value.elts) for value in plain)


def _has_starred(value: ast.Tuple) -> bool:
    return any(isinstance(one, ast.Starred) for one in value.elts)


def _own(nodes: Iterable[ast.AST]) -> Iterable[ast.AST]:
    """The nodes of a function without those of functions and classes in it."""
    for node in nodes:
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
            yield node
            yield from _own(children(node))
