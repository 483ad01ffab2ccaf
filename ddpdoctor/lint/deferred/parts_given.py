"""What a program gives a part of an object by its name, before it unpacks that as arguments: `train(**c)`. Pure."""

from __future__ import annotations

import ast

from ddpdoctor.program.nodes import walk


def parts_given(tree: ast.Module, name: str) -> list[ast.expr] | None:
    """What a file gives a part of this name, of any object: by `c.name = ...`, `c["name"] = ...`, and as keywords,
    `c.update(name=...)`; None if it uses the name otherwise, as something that may be given."""
    given: list[ast.expr] = []
    known: set[ast.AST] = set()
    for node in walk(tree):
        if isinstance(node, ast.keyword) and node.arg == name:
            given.append(node.value)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            part = _part(node.targets[0])
            if part is not None and _name_of(part) == name:
                given.append(node.value)
                known.add(part)
    return given if all(node in known for node in walk(tree) if _may_give(node, name)) else None


def _part(target: ast.expr) -> ast.expr | None:
    """What names the part of an object that is given something."""
    if isinstance(target, ast.Subscript):
        return target.slice
    return target if isinstance(target, ast.Attribute) else None


def _name_of(part: ast.expr) -> object:
    if isinstance(part, ast.Attribute):
        return part.attr
    return part.value if isinstance(part, ast.Constant) else None


def _may_give(node: ast.AST, name: str) -> bool:
    """Whether something names a part other than to read it."""
    if isinstance(node, ast.Attribute):
        return node.attr == name and not isinstance(node.ctx, ast.Load)
    return isinstance(node, ast.Constant) and node.value == name
