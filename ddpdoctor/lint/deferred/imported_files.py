"""The files of a project that a program imports, as far as the names of files tell. Pure."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator, Mapping

from ddpdoctor.program import source
from ddpdoctor.program.nodes import last_name, walk

#: functions that import by a name that may be made while the program runs
_DYNAMIC = frozenset({"import_module", "__import__", "run_path", "run_module"})


class ImportedFiles:
    """What the programs among some files import, each file parsed once."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        """`texts`: what the files contain, by their paths."""
        self._texts = texts
        #: by the last part of the name under which they are imported
        self._by_name: dict[str, list[str]] = {}
        for path in texts:
            self._by_name.setdefault(posixpath.basename(_module(path)), []).append(path)
        self._known: dict[str, frozenset[str] | None] = {}

    def of(self, program: str) -> set[str] | None:
        """The program and all that it imports, directly or not; None if that cannot be told: it is not among the files,
        one of them does not parse, or one imports by a name that it makes."""
        if program not in self._texts:
            return None
        reached, left = {program}, [program]
        while left:
            path = left.pop()
            names = self._names(path)
            if names is None:
                return None
            folders = (posixpath.dirname(path), posixpath.dirname(program))
            found = {file for name in names for file in self._files_of(name, folders)}
            left += sorted(found - reached)
            reached |= found
        return reached

    def _names(self, path: str) -> frozenset[str] | None:
        if path not in self._known:
            tree = source.tree_of(self._texts[path])
            dynamic = tree is None or any(isinstance(n, ast.Call) and last_name(n.func) in _DYNAMIC for n in walk(tree))
            self._known[path] = None if tree is None or dynamic else frozenset(_names(tree))
        return self._known[path]

    def _files_of(self, name: str, folders: tuple[str, ...]) -> list[str]:
        """The files that an import of a name may mean: the one in a folder from which it is seen, if there is one."""
        ending = f"/{name}"
        found = [path for path in self._by_name.get(posixpath.basename(name), ()) if _module(path).endswith(ending)]
        near = [path for path in found if _module(path).removesuffix(ending) in folders]
        return near or found


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
