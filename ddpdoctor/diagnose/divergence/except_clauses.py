"""Handlers of exceptions in the source."""

from __future__ import annotations

import ast

from ddpdoctor.model.stacks import Site
from ddpdoctor.program.enclosing import LOOPS, around, enclosing, function_around
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.program import Program


def handler_of_next(program: Program, loader: Site) -> Site | None:
    """The only `except` around the place where an iterator is advanced, in the function that created it."""
    around = function_around(program, loader) or program.tree(loader.file)
    tries = [node for node in walk(around) if isinstance(node, ast.Try)] if around else []
    asking = [
        node
        for node in tries
        if any(
            (isinstance(inner, ast.Call) and last_name(inner.func) in ("next", "__next__"))
            or (isinstance(inner, ast.For) and inner.lineno == loader.line)
            for statement in node.body
            for inner in walk(statement)
        )
    ]
    handlers = [handler for node in asking for handler in node.handlers if not _ends_data(handler)]
    if len(handlers) != 1:
        return None
    return Site(loader.file, handlers[0].lineno, loader.function)


def handler_at(program: Program, stands: Site) -> int:
    """The line of the innermost `except` in whose body the line is; 0 for none."""
    handlers = (node for node in around(program, stands) if isinstance(node, ast.ExceptHandler))
    return next((handler.lineno for handler in handlers if stands.line >= handler.body[0].lineno), 0)


def tries_again(program: Program, stands: Site, raised: int) -> bool:
    """Whether the line is in an `except` of a loop that retries; `raised` is a line in the `try` itself."""
    chain = enclosing(program, stands)
    for index, node in enumerate(chain):
        handler = node if isinstance(node, ast.ExceptHandler) else None
        owner = chain[index - 1] if handler and index else None
        looped = any(isinstance(outer, LOOPS) for outer in chain[:index])
        if not looped or not isinstance(owner, ast.Try) or handler is None:
            continue
        tried = any(part.lineno <= raised <= (part.end_lineno or part.lineno) for part in owner.body)
        ends = (ast.Raise, ast.Return, ast.Break)
        if tried and not any(isinstance(inner, ends) for part in handler.body for inner in walk(part)):
            return True
    return False


def _ends_data(handler: ast.ExceptHandler) -> bool:
    return handler.type is not None and last_name(handler.type) == "StopIteration"
