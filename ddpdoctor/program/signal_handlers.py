"""Functions that handle signals, as their file registers them."""

from __future__ import annotations

import ast

from ddpdoctor.program.modules import FunctionInfo, Module


def handles(method: FunctionInfo) -> bool:
    """Whether the function is given to `signal.signal` in its file."""
    module = method.module
    return "signal" in module.words and method.name in _handlers(module)


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
