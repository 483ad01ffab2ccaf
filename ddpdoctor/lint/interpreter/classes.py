"""Classes of the project: their bases, and which class defines a method."""

from __future__ import annotations

import ast

from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.interpreter.names import global_value
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.values.abstract_objects import Class, External, LocalModule
from ddpdoctor.lint.values.values import Value
from ddpdoctor.program.modules import ClassInfo, FunctionInfo
from ddpdoctor.program.nodes import dotted


def mro(machine: Machine, info: ClassInfo) -> list[ClassInfo]:
    """The class and its bases in this project, nearest first."""
    if not info.node.bases:
        return [info]
    known = machine.lineages.get(info)
    if known is not None:
        return known
    found: list[ClassInfo] = []
    queue, sure = [info], True
    while queue and len(found) < 12:
        current = queue.pop(0)
        if current in found:
            continue
        found.append(current)
        for base in map(_plain, current.node.bases):
            value = _base(machine, current, base)
            if value is not None and isinstance(value.object, Class):
                queue.append(value.object.info)
            # a name that is being looked up at the moment may turn out to be a class
            sure = sure and value is not None and value.object is not None
    if sure:
        machine.lineages[info] = found
    return found


def _plain(base: ast.expr) -> ast.expr:
    """A base without what it is of: `Dataset` of `Dataset[Row]`."""
    return base.value if isinstance(base, ast.Subscript) else base


def _base(machine: Machine, info: ClassInfo, base: ast.expr) -> Value | None:
    """What a base is; of one from a library, the library."""
    if isinstance(base, ast.Name):
        return global_value(machine, info.module, base.id)
    if not isinstance(base, ast.Attribute):
        return None
    owner = _base(machine, info, base.value)
    if owner is not None and isinstance(owner.object, LocalModule):
        return global_value(machine, owner.object.module, base.attr)
    return owner if owner is not None and isinstance(owner.object, External) else None


def find_method(machine: Machine, info: ClassInfo, name: str) -> FunctionInfo | None:
    if name in info.methods:
        return info.methods[name]
    if not info.node.bases:
        return None
    for base in mro(machine, info)[1:]:
        if name in base.methods:
            return base.methods[name]
    return None


def external_bases(machine: Machine, info: ClassInfo) -> set[str]:
    """Canonical names of the external classes that a class inherits from."""
    names: set[str] = set()
    for current in mro(machine, info):
        for base in map(_plain, current.node.bases):
            path = current.module.imported(base) or ".".join(dotted(base))
            if path:
                names.add(aliases.canonical(path))
    return names
