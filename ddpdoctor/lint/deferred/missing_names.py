"""Which names a file reads of modules of the project that these do not have: an error where they are read. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from ddpdoctor.lint.deferred.called_functions import files_meant
from ddpdoctor.program import source
from ddpdoctor.program.bindings import bound_by
from ddpdoctor.program.nodes import walk

#: what gives a module names that are not written in it
_HIDING = frozenset({"*", "__getattr__", "globals", "exec"})
_OF_MODULES = b"sys.modules"


def missing_names(tree: ast.Module, path: str, files: Mapping[str, bytes]) -> frozenset[tuple[str, str]]:
    """(the name under which a file imports a module, a name that it reads of that and the module does not have).

    Args:
        tree: The file's syntax tree.
        path: Where the file lies.
        files: The texts of the files that the program uses by their paths.
    """
    read = {
        (node.value.id, node.attr)
        for node in walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    found = set()
    for local, module in _modules(tree, path, files):
        held = _held(files[module])
        asked = [attribute for name, attribute in read if name == local] if held is not None else []
        found |= {(local, one) for one in asked if one not in (held or ()) and not _is_set(one, files)}
    return frozenset(found)


def _modules(tree: ast.Module, path: str, files: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    """(name, file) of the modules that a file binds by an import, and by nothing else; not of packages, which may have
    others in them."""
    nodes = walk(tree)
    bound = [name for node in nodes for name in bound_by(node)]
    for local, name, level in _imported(nodes):
        meant = files_meant(name, level, path, files)
        if bound.count(local) == len(meant) == 1 and not meant[0].endswith("__init__.py"):
            yield local, meant[0]


def _imported(nodes: list[ast.AST]) -> Iterator[tuple[str, str, int]]:
    """(the name that an import binds, the module that it may be, how many folders up that is)."""
    for node in nodes:
        if isinstance(node, ast.Import):
            plain = [one for one in node.names if one.asname or "." not in one.name]
            yield from ((one.asname or one.name, one.name, 0) for one in plain)
        elif isinstance(node, ast.ImportFrom):
            within = f"{node.module}." if node.module else ""
            yield from ((one.asname or one.name, f"{within}{one.name}", node.level) for one in node.names)


def _held(text: bytes) -> frozenset[str] | None:
    """The names that a module has, None if it may have others."""
    tree = source.tree_of(text)
    nodes = walk(tree) if tree is not None else []
    bound = {name for node in nodes for name in bound_by(node)}
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    hidden = tree is None or _OF_MODULES in text or not _HIDING.isdisjoint(bound | used)
    return (
        None if hidden else frozenset(bound | {"__name__", "__file__", "__doc__", "__dict__", "__path__", "__spec__"})
    )


def _is_set(name: str, files: Mapping[str, bytes]) -> bool:
    """Whether a file of the program gives something a member of this name from outside."""
    given = re.compile(rb"\.\s*" + re.escape(name.encode()) + rb"\s*(?:[:=](?!=)|,)")
    return any(name.encode() in text and given.search(text) is not None for text in files.values())
