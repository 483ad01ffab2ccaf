"""Flags that a program's signal handlers set, read from its source."""

from __future__ import annotations

import ast

from ddpdoctor.model.stacks import Site
from ddpdoctor.program.program import Program


def set_by_handlers(program: Program, file: str) -> dict[str, str]:
    """Names and attributes that functions given to `signal.signal` set in this file, with the function's name.

    What is also set elsewhere to anything but a first value of False, None or 0 is no flag of the handler alone.
    """
    tree = program.tree(file)
    if tree is None:
        return {}
    handlers = {_last(call.args[1]) for call in ast.walk(tree) if isinstance(call, ast.Call) and _installs(call)}
    named = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name in handlers]
    unnamed = [
        c.args[1]
        for c in ast.walk(tree)
        if isinstance(c, ast.Call) and _installs(c) and isinstance(c.args[1], ast.Lambda)
    ]
    functions: list[ast.AST] = [*named, *unnamed]
    found = {name: getattr(function, "name", "lambda") for function in functions for name in _stored(function)}
    inside = {id(node) for function in functions for node in ast.walk(function)}
    others = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and id(node) not in inside and not _is_off(node.value)
        for target in node.targets
        for name in [_last(target)]
    }
    return {name: function for name, function in found.items() if name and name not in others}


def names_on(program: Program, site: Site) -> set[str]:
    """Names and attributes that the condition of the `if` or `while` on this line reads."""
    tree = program.tree(site.file)
    tests = (
        [n.test for n in ast.walk(tree) if isinstance(n, (ast.If, ast.While)) and n.lineno == site.line] if tree else []
    )
    return {_last(node) for test in tests for node in ast.walk(test) if isinstance(node, (ast.Name, ast.Attribute))}


def _installs(node: ast.Call) -> bool:
    if len(node.args) < 2:
        return False
    function = node.func
    return (isinstance(function, ast.Attribute) and function.attr in ("signal", "add_signal_handler")) or (
        isinstance(function, ast.Name) and function.id == "signal"
    )


def _stored(function: ast.AST) -> set[str]:
    """What the function assigns, and objects on which it calls `set()`, as of an Event."""
    stored = {_last(n) for n in ast.walk(function) if isinstance(getattr(n, "ctx", None), ast.Store)}
    calls = [n.func for n in ast.walk(function) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
    return stored | {_last(called.value) for called in calls if called.attr == "set"}


def _is_off(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return not value.value
    return isinstance(value, ast.Call) and _last(value.func) == "Event"


def _last(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
