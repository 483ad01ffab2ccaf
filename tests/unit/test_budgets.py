"""Budgets of functions: parameters, cyclomatic complexity, length. Files have none: they are cut by concept.

An exception stands in budgets.toml with its present figure and a reason; one that is not needed any more must go.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGE = Path(__file__).parents[2] / "ddpdoctor"
EXCEPTIONS = Path(__file__).with_name("budgets.toml")

#: `self` and `cls` do not count
PARAMETERS = 5
#: branches + 1: if, loops, comprehensions, `except`, `case`; nested functions count by themselves
COMPLEXITY = 10
#: lines, the docstring's included
LENGTH = 50

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case, ast.comprehension)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def _functions() -> tuple[tuple[str, _Function], ...]:
    """(`folder/file.py:Class.name`, definition) of every function of the package."""
    return tuple(
        (f"{path.relative_to(PACKAGE).as_posix()}:{name}", node)
        for path in sorted(PACKAGE.rglob("*.py"))
        for name, node in _defined(ast.parse(path.read_text(encoding="utf-8")), "")
    )


def _defined(node: ast.AST, owner: str) -> Iterator[tuple[str, _Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _FUNCTIONS):
            yield f"{owner}{child.name}", child
        name = f"{owner}{child.name}." if isinstance(child, (*_FUNCTIONS, ast.ClassDef)) else owner
        yield from _defined(child, name)


def _parameters(function: _Function) -> int:
    given = function.args
    names = [arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def _complexity(function: _Function) -> int:
    return 1 + sum(isinstance(node, _BRANCHES) for node in _own(function))


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a function without those of functions and classes inside of it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (*_FUNCTIONS, ast.ClassDef, ast.Lambda)):
            yield child
            yield from _own(child)


def _length(function: _Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


@pytest.mark.parametrize(
    ("what", "measure", "most"),
    [("parameters", _parameters, PARAMETERS), ("complexity", _complexity, COMPLEXITY), ("length", _length, LENGTH)],
)
def test_functions_keep_their_budget(what: str, measure: Callable[[_Function], int], most: int) -> None:
    over = {name: figure for name, node in _functions() if (figure := measure(node)) > most}
    exceptions = tomllib.loads(EXCEPTIONS.read_text(encoding="utf-8")).get(what, {})
    assert over == {name: exception["is"] for name, exception in exceptions.items()}
    assert all(exception["because"].strip() for exception in exceptions.values())


_EXAMPLE = """
class Job:
    @cached
    def run(self, a, /, b, *rest, c, **options):
        \"\"\"Two lines,
        with this one.\"\"\"
        def inner(x, y):
            return x if y else [z for z in x]
        for rank in a:
            if b or c:
                return 1
        match b:
            case 1:
                return 2
        return [x for x in a if x]
"""


def test_what_the_measures_count() -> None:
    (name, run), (within, inner) = _defined(ast.parse(_EXAMPLE), "")
    assert (name, _parameters(run), _complexity(run), _length(run)) == ("Job.run", 3, 5, 12)
    assert (within, _parameters(inner), _complexity(inner)) == ("Job.run.inner", 2, 2)
