"""Pure. `with` statements at which an exception ends: the program goes on after them as if nothing had been raised."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ddpdoctor.diagnose.divergence import statements
from ddpdoctor.program.enclosing import FUNCTIONS
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import last_name, walk

#: `contextlib.suppress`, by whatever name its module is imported
_SUPPRESS = "suppress"
_EXITS = ("__exit__", "__aexit__")
_WITHS = (ast.With, ast.AsyncWith)
_DECORATORS = ("contextmanager", "asynccontextmanager")


class Swallowing:
    """What the context managers of a program's own files do with exceptions."""

    def __init__(self, modules: Iterable[Module]) -> None:
        every = tuple(modules)
        #: classes and functions that make such context managers
        self._makers = frozenset(name for module in every for name in _makers(module)) | {_SUPPRESS}
        self._makers |= {name for module in every for name in _wrappers(module, self._makers)}
        #: variables and attributes that hold one
        made = statements.objects(every) if len(self._makers) > 1 else {}
        self._held = frozenset(name for name, owner in made.items() if owner in self._makers)

    def ends_at(self, stmt: ast.With | ast.AsyncWith) -> bool:
        """Whether an exception inside may end at the statement."""
        return any(
            last_name(item.context_expr) in self._held
            or not self._makers.isdisjoint(statements.names_called(item.context_expr))
            for item in stmt.items
        )


def _makers(module: Module) -> Iterator[str]:
    classes = {node.name: node for node in module.of(ast.ClassDef)}
    for name, node in classes.items():
        exits = _exit(node) or next(
            (_exit(classes[base]) for base in map(last_name, node.bases) if base in classes), None
        )
        if exits is not None and any(_may_be_true(inner) for inner in walk(exits)):
            yield name
    for function in _generators(module):
        if any(isinstance(inner, ast.Try) and _swallows(inner) for inner in walk(function)):
            yield function.name


def _wrappers(module: Module, makers: frozenset[str]) -> Iterator[str]:
    """Generators whose `yield` is in a `with` at which exceptions end."""
    for function in _generators(module):
        for inner in walk(function):
            made = (item.context_expr for item in inner.items) if isinstance(inner, _WITHS) else ()
            ends = any(not makers.isdisjoint(statements.names_called(one)) for one in made)
            if ends and any(isinstance(one, ast.Yield) for one in walk(inner)):
                yield function.name


def _generators(module: Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = [*module.of(ast.FunctionDef)]
    functions += module.of(ast.AsyncFunctionDef)
    for function in functions:
        if any(last_name(one) in _DECORATORS for one in function.decorator_list):
            yield function


def _exit(node: ast.ClassDef) -> ast.stmt | None:
    return next((one for one in node.body if isinstance(one, FUNCTIONS) and one.name in _EXITS), None)


def _may_be_true(node: ast.AST) -> bool:
    """A method that returns what is not known to be false: then the exception does not go on."""
    if not isinstance(node, ast.Return) or node.value is None:
        return False
    return not (isinstance(node.value, ast.Constant) and not node.value.value)


def _swallows(node: ast.Try) -> bool:
    """A generator's `yield` in a `try` with a handler that does not raise again."""
    inside = any(isinstance(inner, ast.Yield) for part in node.body for inner in walk(part))
    return inside and any(not isinstance(handler.body[-1], ast.Raise) for handler in node.handlers)
