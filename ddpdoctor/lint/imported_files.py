"""The files of a project that a program imports, as far as the names of files tell. Pure."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator, Mapping

from ddpdoctor.program import source
from ddpdoctor.program.nodes import last_name, walk

#: functions that import by a name that may be made while the program runs
_DYNAMIC = frozenset({"import_module", "__import__", "run_path", "run_module"})


def imported(program: str, texts: Mapping[str, bytes]) -> set[str] | None:
    """The program and all that it imports, directly or not; None if that cannot be told: it is not among the files, one
    of them does not parse, or one imports by a name that it makes.

    `texts`: what the files contain, by their paths.
    """
    if program not in texts:
        return None
    by_name = _by_name(texts)
    reached, left = {program}, [program]
    while left:
        path = left.pop()
        tree = _parsed(texts[path])
        if tree is None or any(isinstance(n, ast.Call) and last_name(n.func) in _DYNAMIC for n in walk(tree)):
            return None
        folders = (posixpath.dirname(path), posixpath.dirname(program))
        found = {file for name in _names(tree) for file in _files_of(name, folders, by_name)}
        left += sorted(found - reached)
        reached |= found
    return reached


def _parsed(text: bytes) -> ast.Module | None:
    decoded = source.decode(text)
    tree = source.parse(decoded.text) if isinstance(decoded, source.DecodedSource) else None
    return tree if isinstance(tree, ast.Module) else None


def _by_name(texts: Mapping[str, bytes]) -> dict[str, list[str]]:
    """The files by the last part of the name under which they are imported."""
    found: dict[str, list[str]] = {}
    for path in texts:
        found.setdefault(posixpath.basename(_module(path)), []).append(path)
    return found


def _module(path: str) -> str:
    """The path without what an import leaves out: the ending, and the file of a package."""
    return path.removesuffix("/__init__.py").removesuffix(".py")


def _names(tree: ast.Module) -> Iterator[str]:
    """The modules that the statements of a file may import, as relative paths."""
    for node in walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.replace(".", "/")
        elif isinstance(node, ast.ImportFrom):
            module = (node.module or "").replace(".", "/")
            yield from ([module] if module else [])
            yield from (posixpath.join(module, alias.name) for alias in node.names)


def _files_of(name: str, folders: tuple[str, ...], by_name: Mapping[str, list[str]]) -> list[str]:
    """The files that an import of a name may mean: the one in a folder from which it is seen, if there is one."""
    ending = f"/{name}"
    found = [path for path in by_name.get(posixpath.basename(name), ()) if _module(path).endswith(ending)]
    near = [path for path in found if _module(path).removesuffix(ending) in folders]
    return near or found
