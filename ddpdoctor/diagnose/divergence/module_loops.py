"""Loops over the parts of a model: every rank has as many of them."""

from __future__ import annotations

import ast

from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.program import Program

_CONTAINERS = frozenset({"ModuleList", "ModuleDict", "Sequential"})
_AROUND = frozenset({"enumerate", "zip", "reversed", "list"})
_PARTS = frozenset({"values", "items", "keys"})


def goes_over_modules(program: Program, site: Site) -> bool:
    """Whether the loop that begins at the line goes over a container of modules: all that the program stores under this
    name are."""
    loops = (node for node in enclosing.around(program, site) if isinstance(node, (ast.For, ast.AsyncFor)))
    loop = next((node for node in loops if node.lineno == site.line), None)
    name = _name(loop.iter) if loop is not None else ""
    modules = filter(None, (program.module(file) for file in program))
    stored = [
        node.value
        for module in modules
        for node in module.of(ast.Assign)
        if name and any(last_name(target) == name for target in node.targets)
    ]
    return bool(stored) and all(_is_container(value) for value in stored)


def _name(iterated: ast.expr) -> str:
    """The last name of what is gone over: `self.stages` of `enumerate(self.stages)`."""
    match iterated:
        case ast.Call(func=ast.Name(id=around), args=[first, *_]) if around in _AROUND:
            return _name(first)
        case ast.Call(func=ast.Attribute(value=owner, attr=part), args=[]) if part in _PARTS:
            return _name(owner)
        case ast.Name() | ast.Attribute():
            return last_name(iterated)
    return ""


def _is_container(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and any(last_name(node) in _CONTAINERS for node in walk(value.func))
