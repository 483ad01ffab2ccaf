"""Whether what a program runs may make it one of several ranks. Pure.

Names tell: a function or class runs if its name stands in what runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program import source
from ddpdoctor.program.enclosing import FUNCTIONS
from ddpdoctor.program.nodes import last_name, walk

#: what makes a process one of several ranks, of torch
_MAKES = "init_process_group"


def may_join(texts: Iterable[bytes]) -> bool:
    """Whether anything in the files that a program uses may make it one of several ranks, or cannot be read."""
    files = [_units(text) for text in texts]
    called = (name for units in files for unit in units or () for name in unit.called)
    return None in files or heuristics.MAY_JOIN.found_in_any(called)


class _Unit(NamedTuple):
    """A function or class of a file, or what the file runs when it is imported."""

    #: "" of what runs when it is imported
    name: str
    #: all that stands in it
    mentioned: frozenset[str]
    #: what it calls, with the last name of what has it: `dist.init_process_group`
    called: frozenset[str]


def makes_none(texts: Iterable[bytes]) -> bool:
    """Whether a program makes no process group although a file that it uses has a function that does: nothing that runs
    comes to that, or to anything else that may make one, or start what does."""
    units: list[_Unit] = []
    for text in texts:
        of_file = _units(text)
        if of_file is None:
            return False
        units += of_file
    makers = [unit for unit in units if any(name.endswith(_MAKES) for name in unit.called)]
    if not makers:
        return False
    run = _that_run(units)
    called = frozenset[str]().union(*(unit.called for unit in run))
    return not any(unit in run for unit in makers) and not heuristics.MAY_JOIN.found_in_any(called)


def _that_run(units: Sequence[_Unit]) -> list[_Unit]:
    """Those that run when the files are imported, and what they and these mention."""
    run = [unit for unit in units if not unit.name]
    left = [unit for unit in units if unit.name]
    for unit in run:
        reached = [other for other in left if other.name in unit.mentioned]
        run += reached
        left = [other for other in left if other.name not in unit.mentioned]
    return run


@lru_cache(maxsize=1 << 10)
def _units(text: bytes) -> tuple[_Unit, ...] | None:
    """None of a file that cannot be read."""
    tree = source.tree_of(text)
    if tree is None:
        return None
    defined = [node for node in tree.body if isinstance(node, (*FUNCTIONS, ast.ClassDef))]
    others = [node for node in tree.body if node not in defined]
    return (_unit("", others), *(_unit(node.name, [node]) for node in defined))


def _unit(name: str, statements: Sequence[ast.stmt]) -> _Unit:
    nodes = [node for statement in statements for node in walk(statement)]
    called = (_name(node.func) for node in nodes if isinstance(node, ast.Call))
    return _Unit(name, frozenset(_mentioned(nodes)) - {name}, frozenset(called))


def _name(function: ast.expr) -> str:
    owner = last_name(function.value) if isinstance(function, ast.Attribute) else ""
    return f"{owner}.{last_name(function)}" if owner else last_name(function)


def _mentioned(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names of variables and attributes, and texts, which may name what is looked up."""
    for node in nodes:
        if isinstance(node, (ast.Name, ast.Attribute)):
            yield last_name(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
