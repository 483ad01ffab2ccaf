"""Which functions and classes of a project a program means where it calls them by their names. Pure."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program import source
from ddpdoctor.program.bindings import bound_by
from ddpdoctor.program.enclosing import FUNCTIONS
from ddpdoctor.program.modules import FunctionNode
from ddpdoctor.program.nodes import walk

#: through how many files a name is followed that each imports from the next
_MOST_IMPORTS = 4


class Defined(NamedTuple):
    """A function or class, and the file that defines it."""

    path: str
    node: FunctionNode | ast.ClassDef


def called_functions(tree: ast.Module, path: str, files: Mapping[str, bytes]) -> dict[str, Defined]:
    """The definitions by their names, of those that nothing decorates and that can mean nothing else.

    Args:
        tree: The program's syntax tree.
        path: Where the program lies.
        files: The texts of the files that it uses by their paths, its own among them.
    """
    called = {node.func.id for node in walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    found = ((name, _defined(tree, path, name, files, _MOST_IMPORTS)) for name in sorted(called))
    return {name: one for name, one in found if one is not None and not one.node.decorator_list}


def _defined(tree: ast.Module, path: str, name: str, files: Mapping[str, bytes], most: int) -> Defined | None:
    """What a name means at the top of a file, if a file of the project defines it and nothing may replace it."""
    bound = _bound(tree)
    binding = [*bound.get(name, ()), *bound.get("*", ())]
    if len(binding) != 1 or not most:
        return None
    if isinstance(binding[0], (*FUNCTIONS, ast.ClassDef)):
        return Defined(path, binding[0]) if binding[0] in tree.body else None
    homes = _homes(binding[0], name, path, files) if isinstance(binding[0], ast.ImportFrom) else []
    home = source.tree_of(files[homes[0]]) if len(homes) == 1 else None
    return _defined(home, homes[0], name, files, most - 1) if home is not None else None


@lru_cache(maxsize=32)  # as many as there are trees that are kept
def _bound(tree: ast.Module) -> Mapping[str, Sequence[ast.AST]]:
    """What binds each of the names in a file."""
    found: dict[str, list[ast.AST]] = {}
    for node in walk(tree):
        for name in set(bound_by(node)):
            found.setdefault(name, []).append(node)
    return found


def _homes(statement: ast.ImportFrom, name: str, path: str, files: Mapping[str, bytes]) -> list[str]:
    """The files of which an import may take something under its own name: the one that it names from where it stands,
    if there is one."""
    if not any(one.name == name and one.asname in (None, name) for one in statement.names):
        return []
    return files_meant(statement.module or "", statement.level, path, files)


def files_meant(module: str, level: int, path: str, files: Collection[str]) -> list[str]:
    """The files that an import in a file may mean by a module: the one that it names from where it stands, if there is
    one."""
    named = module.replace(".", "/")
    folder = posixpath.dirname(path)
    for _ in range(level - 1):
        folder = posixpath.dirname(folder)
    near = [one for one in _files_of(posixpath.join(folder, named)) if one in files]
    if near or level:
        return near
    return [file for file in files if file.endswith(tuple(f"/{one}" for one in _files_of(named)))]


def _files_of(module: str) -> Iterator[str]:
    yield f"{module}.py"
    yield f"{module}/__init__.py"
