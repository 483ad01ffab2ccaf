"""The files of a project that a program imports, as far as the names of files tell. Pure."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator, Mapping

from ddpdoctor.program import source
from ddpdoctor.program.nodes import last_name, walk

#: functions that import by a name, which may be made while the program runs
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
        #: what a file imports in programs of one folder, which are asked one after the other
        self._found: dict[tuple[str, str, bool], frozenset[str] | None] = {}

    def of(self, program: str) -> set[str] | None:
        """The program and all that it imports, directly or not; None if that cannot be told: it is not among the files,
        one of them does not parse, or one imports by a name that it makes."""
        if program not in self._texts:
            return None
        reached, left = {program}, [program]
        while left:
            path = left.pop()
            anywhere = any(b"sys.path" in self._texts[file] for file in (path, program))
            found = self._imported(path, posixpath.dirname(program), anywhere)
            if found is None:
                return None
            left += sorted(found - reached)
            reached |= found
        return reached

    def _imported(self, path: str, home: str, anywhere: bool) -> frozenset[str] | None:
        """What a file imports itself in a program of a folder; None if that cannot be told."""
        key = (path, home, anywhere)
        if key not in self._found:
            names, folders = self._names(path), (posixpath.dirname(path), home)
            files = (self._files_of(name, folders, anywhere=anywhere) for name in names or ())
            self._found[key] = frozenset(file for found in files for file in found) if names is not None else None
        return self._found[key]

    def _names(self, path: str) -> frozenset[str] | None:
        if path not in self._known:
            tree = source.tree_of(self._texts[path])
            asked = _asked(tree) if tree is not None else [""]
            self._known[path] = None if tree is None or "" in asked else frozenset((*_names(tree), *asked))
        return self._known[path]

    def _files_of(self, name: str, folders: tuple[str, ...], *, anywhere: bool) -> list[str]:
        """The files that an import of a name may mean: the one in a folder from which it is seen, if there is one, or
        else none inside of a package, unless the name is relative or modules may be searched for `anywhere`."""
        plain = name.removeprefix(_RELATIVE)
        ending = f"/{plain}"
        found = [path for path in self._by_name.get(posixpath.basename(plain), ()) if _module(path).endswith(ending)]
        homes = {path: _module(path).removesuffix(ending) for path in found}
        near = [path for path in found if homes[path] in folders]
        if near or anywhere or plain != name:
            return near or found
        return [path for path in found if f"{homes[path]}/__init__.py" not in self._texts]


def _module(path: str) -> str:
    """The path without what an import leaves out: the ending, and the file of a package."""
    return path.removesuffix("/__init__.py").removesuffix(".py")


def _asked(tree: ast.Module) -> list[str]:
    """The modules that calls import, "" for one whose name is made."""
    calls = [node for node in walk(tree) if isinstance(node, ast.Call) and last_name(node.func) in _DYNAMIC]
    given = [call.args[0] if call.args else None for call in calls]
    texts = [one.value if isinstance(one, ast.Constant) else None for one in given]
    return [_path_of(text) if isinstance(text, str) else "" for text in texts]


def _path_of(name: str) -> str:
    """The relative path of a module by its name, or by that of its file."""
    path = name.removesuffix(".py").lstrip(".").replace(".", "/")
    return _RELATIVE + path if name.startswith(".") else path


#: what a name begins with that is looked up from the file that imports it
_RELATIVE = "./"


def _names(tree: ast.Module) -> Iterator[str]:
    """The modules that the statements of a file may import, as relative paths."""
    for node in walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.replace(".", "/")
        elif isinstance(node, ast.ImportFrom):
            start, module = (_RELATIVE if node.level else ""), (node.module or "").replace(".", "/")
            yield from ([start + module] if module else [])
            yield from (start + posixpath.join(module, alias.name) for alias in node.names)
