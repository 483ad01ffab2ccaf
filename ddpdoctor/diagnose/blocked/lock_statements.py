"""Locks that statements acquire: by a line itself, or by a `with` around it. Matched by the lock's last name."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.program import Program
from ddpdoctor.program.text import text_of


def lock_taken(program: Program, site: Site) -> str:
    """The lock that the line acquires, such as `self.lock`; "" for none. Only a stack can show that it is a lock."""
    for node in enclosing.around(program, site):
        if isinstance(node, (ast.With, ast.AsyncWith)) and _in_head(node, site.line):
            named = [item.context_expr for item in node.items if _name(item.context_expr)]
            return text_of(named[0]) if len(named) == 1 else ""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "acquire":
            return text_of(node.func.value)
    return ""


def is_shared(program: Program, lock: str) -> bool:
    """Whether a lock of this name, as `lock_taken` tells it, is one of `multiprocessing`: processes share it, and a
    fork copies nothing of it."""
    wanted = lock.rpartition(".")[2]
    modules = filter(None, (program.module(file) for file in program))
    made = (
        (module, node.value)
        for module in modules
        for node in module.of(ast.Assign)
        if wanted and any(last_name(target) == wanted for target in node.targets)
    )
    return any(isinstance(value, ast.Call) and _of_processes(module, value.func) for module, value in made)


def _of_processes(module: Module, function: ast.expr) -> bool:
    name = module.imported(function)
    return any(name.startswith(f"{package}.") for package in ("multiprocessing", "torch.multiprocessing"))


def _name(lock: ast.expr) -> str:
    """The last name of a lock, or of what it is an element of (`self.locks[voice]`)."""
    return last_name(lock.value if isinstance(lock, ast.Subscript) else lock)


def _in_head(node: ast.With | ast.AsyncWith, line: int) -> bool:
    return node.lineno <= line < max(node.body[0].lineno, node.lineno + 1)


def taken_by(program: Program, frames: Iterable[Site], lock: str) -> Site | None:
    """Where the functions of these frames acquire the same lock (matched by its last name), if they do."""
    wanted = lock.rpartition(".")[2]
    for frame in frames:
        function = enclosing.function_around(program, frame)
        for node in walk(function) if function else ():
            items = node.items if isinstance(node, (ast.With, ast.AsyncWith)) else []
            if any(last_name(item.context_expr) == wanted for item in items):
                return Site(frame.file, getattr(node, "lineno", frame.line), frame.function)
    return None


def inside_of(program: Program, frames: Iterable[Site], lock: str) -> Site | None:
    """The innermost of these frames inside a `with` of the same lock (matched by its last name).

    A frame that is itself about to acquire the lock is not inside.
    """
    wanted = lock.rpartition(".")[2]
    for frame in frames:
        for node in enclosing.around(program, frame):
            if not isinstance(node, (ast.With, ast.AsyncWith)) or _in_head(node, frame.line):
                continue
            if any(last_name(item.context_expr) == wanted for item in node.items):
                return frame
    return None
