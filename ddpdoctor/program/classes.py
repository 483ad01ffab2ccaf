"""What the definition of a class says: fields that its constructor takes, elements of a tuple."""

from __future__ import annotations

import ast

from ddpdoctor.program.modules import ClassInfo


def has_fields(info: ClassInfo) -> bool:
    """`@dataclass`, attrs, or a NamedTuple."""
    for decorator in info.node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
        if name in ("dataclass", "define", "frozen", "attrs", "s", "mutable"):
            return True
    return is_tuple(info)


def is_tuple(info: ClassInfo) -> bool:
    """A NamedTuple: its fields are its elements."""
    return any(_last(base) == "NamedTuple" for base in info.node.bases)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
