"""Where what a function of the project gives is taken apart into another number of names, which is an error. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

from ddpdoctor.program import source
from ddpdoctor.program.enclosing import FUNCTIONS
from ddpdoctor.program.modules import FunctionNode
from ddpdoctor.program.nodes import children, walk


def sizes(tree: ast.Module, used: Sequence[bytes]) -> dict[str, frozenset[int]]:
    """How many values the functions give that a program calls by their names: of those whose every way out gives a
    display of values.

    Args:
        tree: The program's syntax tree.
        used: The texts of the files that it uses, its own among them.
    """
    wanted = {name for node in walk(tree) if (name := _unpacked(node)) and not _is_bound_otherwise(tree, name)}
    named = [text for text in used if any(f"def {name}".encode() in text for name in wanted)]
    trees = filter(None, map(source.tree_of, named))
    defined = [node for one in trees for node in walk(one) if isinstance(node, FUNCTIONS) and node.name in wanted]
    names = [function.name for function in defined]
    alone = [function for function in defined if names.count(function.name) == 1 and not function.decorator_list]
    return {function.name: given for function in alone if (given := _given(function))}


def mismatch(node: ast.AST, given: Mapping[str, frozenset[int]]) -> str:
    """What ends in an error where an assignment takes apart what a function gives; "" if nothing does."""
    name = _unpacked(node)
    if name not in given or not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Tuple):
        return ""
    taken = len(node.targets[0].elts)
    if taken in given[name]:
        return ""
    return f"{name} gives {' or '.join(map(str, sorted(given[name])))} values, of which {taken} are taken"


def _unpacked(node: ast.AST) -> str:
    """The function whose result an assignment takes apart into names, "" if it does something else."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return ""
    targets, called = node.targets[0], node.value.func
    plain = isinstance(targets, ast.Tuple) and not any(isinstance(target, ast.Starred) for target in targets.elts)
    return called.id if plain and isinstance(called, ast.Name) else ""


def _is_bound_otherwise(tree: ast.Module, name: str) -> bool:
    """Whether a name may be something else in a file than the function of this name."""
    return any(
        (isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load))
        or (isinstance(node, ast.arg) and node.arg == name)
        or (isinstance(node, ast.alias) and node.asname == name)
        or (isinstance(node, ast.ClassDef) and node.name == name)
        for node in walk(tree)
    )


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
