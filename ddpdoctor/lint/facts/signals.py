"""What signal handlers set: a flag that is up on one rank before it is on another."""

from __future__ import annotations

import ast

from ddpdoctor.lint.facts.modules import FunctionInfo, Module
from ddpdoctor.lint.facts.values import Taint, Value, unknown

_TAG = frozenset({"signal"})


def handles(method: FunctionInfo) -> bool:
    """Whether the function is given to `signal.signal` in its file."""
    module = method.module
    return "signal" in module.words and method.name in _handlers(module)


def flag(module: Module, name: str) -> Value | None:
    """A global name that a handler sets; None for any other."""
    if "signal" not in module.words:
        return None
    if any(name in f.outer and handles(f) for f in module.functions):
        return raised("signal", module.path, name)
    return None


def raised(*key: object) -> Value:
    """A flag that a handler sets."""
    return unknown(*key, taint=Taint.RANK_LOCAL, tags=_TAG)


def _handlers(module: Module) -> set[str]:
    if module.handlers is not None:
        return module.handlers
    found = module.handlers = set()
    for node in module.of(ast.Call):
        if len(node.args) == 2 and _is_signal(module, node.func):
            handler = node.args[1]
            if isinstance(handler, (ast.Name, ast.Attribute)):
                found.add(handler.id if isinstance(handler, ast.Name) else handler.attr)
    return found


def _is_signal(module: Module, func: ast.expr) -> bool:
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        return module.imports.get(func.value.id) == "signal" and func.attr == "signal"
    return isinstance(func, ast.Name) and module.imports.get(func.id) == "signal.signal"
