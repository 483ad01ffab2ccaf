"""Lines that a program may never come to: a condition on the way of which nothing shows that it can hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import proofs, single_process
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.program.enclosing import FUNCTIONS
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.sites import site_of
from ddpdoctor.program.text import shown, text_of


def doubt(facts: ModuleFacts, node: ast.AST) -> str:
    """What has to hold for the program to come to a place in a function, as the beginning of a message; "" where it
    surely does, as far as the function shows."""
    around = list(_around(facts, node))
    function = next((n for n in around if isinstance(n, FUNCTIONS)), None)
    if function is None:
        return ""
    if _is_replaced(facts, function):
        return f"where the first of both `{function.name}` is used, "
    if single_process.refuses_several(facts, (site_of(facts.module, node),)):
        return "if several ranks come here at all, "
    flags = {argument.arg for argument in walk(function.args) if isinstance(argument, ast.arg)}
    tests = (test for test in _tests(node, around) if not _holds_sometime(test, around))
    open_ = next(filter(None, (_open_part(test, flags) for test in tests)), "")
    return f"where `{shown(open_)}` lets the program come here, " if open_ else ""


def _is_replaced(facts: ModuleFacts, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether the same block defines another function of the name later, and not as a part of this one, as an overload
    or a property's setter is."""
    around = facts.parents.get(function)
    block: list[ast.stmt] = around.body if isinstance(around, (ast.Module, ast.ClassDef)) else []
    same = [n for n in block if isinstance(n, FUNCTIONS) and n.name == function.name and not n.decorator_list]
    return function in same and function is not same[-1]


def _tests(node: ast.AST, around: list[ast.AST]) -> Iterator[ast.expr]:
    """The conditions that a place is under, innermost first."""
    for child, parent in zip((node, *around), around, strict=False):
        if isinstance(parent, (ast.If, ast.IfExp)) and child is not parent.test:
            yield parent.test


def _holds_sometime(test: ast.expr, around: list[ast.AST]) -> bool:
    """Whether a condition changes from one time to the next: it is on what a loop goes through, or on a counter."""
    loops = (n for n in around if isinstance(n, (ast.For, ast.AsyncFor)))
    repeated = {part.id for loop in loops for part in _names(loop.target)}
    if any(part.id in repeated for part in _names(test)) or heuristics.COUNTS_EPOCHS.found_in(text_of(test)):
        return True
    return proofs.recurs(test)


def _around(facts: ModuleFacts, node: ast.AST) -> Iterator[ast.AST]:
    """What a node stands in, innermost first, up to the function around it."""
    parent = facts.parents.get(node)
    while parent is not None:
        yield parent
        if isinstance(parent, FUNCTIONS):
            return
        parent = facts.parents.get(parent)


def _names(node: ast.AST) -> list[ast.Name]:
    return [part for part in walk(node) if isinstance(part, ast.Name)]


def _open_part(test: ast.expr, flags: set[str]) -> str:
    """The part of a condition that is a parameter's flag, or reads nothing that the job is started with."""
    parts = test.values if isinstance(test, ast.BoolOp) else [test]
    for part in parts:
        plain = part.operand if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not) else part
        text = text_of(plain)
        by_flag = isinstance(plain, ast.Name) and plain.id in flags
        # of several ranks that run the program all pass a test for the group
        row = heuristics.ASKS_FOR_GROUP if by_flag else heuristics.ABOUT_GROUP
        # and so do all newer versions a test for one
        if row.found_in(text) or "version" in text.lower():
            continue
        if by_flag or proofs.open_part(text, ranked=False):
            return text
    return ""
