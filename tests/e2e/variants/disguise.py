"""Disguises a program: names changed, comments and docstrings removed, lines moved, another file."""

from __future__ import annotations

import ast
import builtins
import itertools
from collections.abc import Iterator


def disguise(source: str, line: int) -> tuple[str, int]:
    """A program that does the same, and where the statement that begins at or around `line` now stands.

    Names are changed where the program alone decides on them: what is bound in it and is neither imported, nor an
    attribute, a keyword, or a part of a text anywhere in it.
    """
    tree = ast.parse(source)
    number = _number(tree, line)
    _drop_docstrings(tree)
    rename(tree)
    changed = f"# moved\n\n\n{ast.unparse(ast.fix_missing_locations(tree))}\n"
    return changed, _nodes(ast.parse(changed))[number]


def rename(tree: ast.Module, kept: frozenset[str] = frozenset()) -> None:
    """Change the names on which the program alone decides, but for those that are `kept`."""
    names = _names(tree)
    _Renaming({name: new for name, new in names.items() if name not in kept}).visit(tree)


def _number(tree: ast.Module, line: int) -> int:
    """Which of `_nodes` begins on `line`, or is the smallest around it."""
    lines = _nodes(tree)
    nearest = max(begins for begins in lines if begins <= line)
    return max(number for number, begins in enumerate(lines) if begins == nearest)


def _nodes(tree: ast.Module) -> list[int]:
    """Lines where statements and exception handlers begin, docstrings left out, in the order of the tree."""
    held = (ast.stmt, ast.ExceptHandler)
    return [node.lineno for node in _walk(tree) if isinstance(node, held) and not _is_docstring(node)]


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _walk(child)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _drop_docstrings(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [statement for statement in body if not _is_docstring(statement)]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]


def _names(tree: ast.Module) -> dict[str, str]:
    bound: set[str] = set()
    fixed = set(dir(builtins))
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                bound.add(name)
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                fixed.add(name)
            case ast.alias(name=name, asname=alias):
                fixed.update({name, alias or "", name.partition(".")[0]})
            case ast.Constant(value=str(text)):
                fixed.update(text.replace("-", "_").split())
    methods = {
        inner.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for inner in node.body
        if isinstance(inner, ast.FunctionDef)
    }
    free = sorted(name for name in bound - fixed - methods if name != "self")
    return dict(zip(free, (f"v{number}" for number in itertools.count()), strict=False))


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self._names.get(node.arg, node.arg)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> ast.AST:
        node.names = [self._names.get(name, name) for name in node.names]
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        node.names = [self._names.get(name, name) for name in node.names]
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        node.name = self._names.get(node.name, node.name) if node.name else None
        return self.generic_visit(node)
