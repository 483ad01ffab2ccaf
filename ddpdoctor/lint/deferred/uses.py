"""Whether anything in a project uses a function or class of it: by its name, in all files. Pure."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator, Mapping

from ddpdoctor.program import source
from ddpdoctor.program.nodes import last_name, walk

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
#: what packages export, by its names
_EXPORTS = "__all__"


class Uses:
    """The uses of names in some files, each file parsed once."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        """`texts`: what the files contain, by their paths."""
        self._texts = texts
        self._trees: dict[str, ast.Module | None] = {}

    def unused_at(self, path: str, line: int) -> str:
        """The name of the function or class of the file around a line, if nothing uses it; "" if something does, or may
        by its decorator or its place in the language."""
        tree = self._tree(path)
        around = (node for node in (tree.body if tree is not None else ()) if isinstance(node, _DEFINITIONS))
        found = next((node for node in around if node.lineno <= line <= (node.end_lineno or 0)), None)
        unused = found is not None and not found.decorator_list and not self._is_used(found, path, frozenset())
        return found.name if found is not None and unused else ""

    def _is_used(self, definition: _Definition, path: str, known: frozenset[str]) -> bool:
        """`path`: where it is defined; `known`: the classes that are looked at already, from which this one is
        derived."""
        name = definition.name
        for file, text in self._texts.items():
            if name.encode() not in text:
                continue
            tree = self._tree(file)
            if tree is not None and file != path and self._means_another(tree, name, path):
                continue
            if tree is None or any(self._uses(part, name, file, known) for part in tree.body):
                return True
        return False

    def _means_another(self, tree: ast.Module, name: str, path: str) -> bool:
        """Whether a name of a file is that of another definition: its own, or one that it imports from a module which
        has one, too."""
        if _defines(tree, name):
            return True
        named = (node for node in tree.body if isinstance(node, ast.ImportFrom))
        modules = {(node.module or "").rpartition(".")[2] for node in named if any(a.name == name for a in node.names)}
        others = {_stem(file) for file, text in self._texts.items() if file != path and name.encode() in text
                  and (other := self._tree(file)) is not None and _defines(other, name)}  # fmt: skip
        return bool(modules) and _stem(path) not in modules and modules <= others

    def _uses(self, part: ast.stmt, name: str, path: str, known: frozenset[str]) -> bool:
        """Whether a statement of a file uses the name, other than to define, import or export it."""
        if isinstance(part, (ast.Import, ast.ImportFrom)):
            return any(alias.name == name and alias.asname not in (None, name) for alias in part.names)
        if _exports(part):
            return False
        if isinstance(part, _DEFINITIONS) and part.name == name and not part.decorator_list:
            return False
        if isinstance(part, ast.ClassDef) and any(last_name(base) == name for base in part.bases):
            return part.name not in known and (bool(part.decorator_list) or self._is_used(part, path, known | {name}))
        return any(_names(node, name) for node in walk(part))

    def _tree(self, path: str) -> ast.Module | None:
        if path not in self._trees:
            self._trees[path] = source.tree_of(self._texts.get(path, b""))
        return self._trees[path]


def _defines(tree: ast.Module, name: str) -> bool:
    return any(isinstance(part, _DEFINITIONS) and part.name == name for part in tree.body)


def _stem(path: str) -> str:
    return posixpath.basename(path).removesuffix(".py")


def _exports(part: ast.stmt) -> bool:
    return any(last_name(target) == _EXPORTS for target in _targets(part))


def _targets(part: ast.stmt) -> Iterator[ast.expr]:
    if isinstance(part, ast.Assign):
        yield from part.targets
    elif isinstance(part, (ast.AnnAssign, ast.AugAssign)):
        yield part.target


def _names(node: ast.AST, name: str) -> bool:
    """Whether it is the name, as an attribute too, or a string by which something may be looked up."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value.rpartition(".")[2].rpartition(":")[2] == name
    return isinstance(node, (ast.Name, ast.Attribute)) and last_name(node) == name
