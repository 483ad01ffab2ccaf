"""The conditions, early exits and decorators around a line and before it in its function."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from ddpdoctor.program.enclosing import innermost_function, statements_around
from ddpdoctor.program.modules import Module, once
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite

if TYPE_CHECKING:  # callers are looked at without what is known of a file
    from ddpdoctor.lint.facts.module_facts import ModuleFacts


def module_of(facts: ModuleFacts, site: SourceSite) -> Module | None:
    """The file of a site, among the files that were analysed."""
    return facts.module if site.file == facts.module.path else facts.analysis.reached.get(site.file)


def branch_at(module: Module, site: SourceSite) -> ast.If | None:
    """The `if` of a file whose condition is at a place."""
    return next((node for node in module.of(ast.If) if node.test.lineno == site.line), None)


_Choice = ast.If | ast.IfExp | ast.BoolOp | ast.Try


@once
def _choices(_module: Module, scope: ast.AST) -> list[_Choice]:
    """All conditions and `try` blocks in a function or file: rules ask about many places of one."""
    return [node for node in walk(scope) if isinstance(node, (ast.If, ast.IfExp, ast.BoolOp, ast.Try))]


@once
def around(module: Module, site: SourceSite) -> tuple[_Choice, ...]:
    """Conditions and `try` blocks around a place in its function; the test of an `if` is not under that `if`."""
    found: list[_Choice] = []
    for node in _choices(module, innermost_function(module.tree, site.line) or module.tree):
        if _holds(node, site):
            test = node.test if isinstance(node, (ast.If, ast.IfExp)) else None
            # a constant chooses nothing
            if test is None or not (isinstance(test, ast.Constant) or _holds(test, site)):
                found.append(node)
    return tuple(found)


def before(module: Module, site: SourceSite) -> list[tuple[ast.If, ast.stmt]]:
    """Branches before a place in its function that leave the function, each with the statement that leaves."""
    function = innermost_function(module.tree, site.line)
    found: list[tuple[ast.If, ast.stmt]] = []
    for node in _choices(module, function or module.tree):
        if isinstance(node, ast.If) and (node.end_lineno or 0) < site.line:
            # a function in between, or before the script's own lines, leaves only itself
            if innermost_function(module.tree, node.lineno) is not function:
                continue
            for side in (node.body, node.orelse):
                if side and leaves(side[-1]):
                    found.append((node, side[-1]))
    return found


def passed(scope: ast.AST, line: int) -> list[ast.stmt]:
    """The statements of a function that have run, to their ends, whenever it comes to a line."""
    found: list[ast.stmt] = []
    for holder in (scope, *statements_around(scope, line)):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(holder, name, None)
            if isinstance(block, list) and any(s.lineno <= line <= (s.end_lineno or s.lineno) for s in block):
                found += [statement for statement in block if (statement.end_lineno or statement.lineno) < line]
    return found


def left_before(function: ast.AST, line: int, chooses: Callable[[ast.expr], bool], *ends: type[ast.stmt]) -> bool:
    """Whether an assertion before a line of the function may stop some ranks there, or a condition let them leave by
    one of these statements, or begin the next iteration of a loop around both; perhaps inside of another condition:
    `if distributed: ...; if rank != 0: return`."""
    loops = _loops_around(function, line)
    for node in walk(function):
        if not isinstance(node, (ast.Assert, ast.If)) or (node.end_lineno or node.lineno) >= line:
            continue
        if not chooses(node.test):
            continue
        inner = _loops_around(function, node.lineno)[-1:]
        if isinstance(node, ast.Assert) or _leaves_by(node, ends, in_loop=bool(inner) and inner[0] in loops):
            return True
    return False


def _loops_around(function: ast.AST, line: int) -> list[ast.stmt]:
    """Loops around a line, outermost first."""
    return [n for n in statements_around(function, line) if isinstance(n, (ast.For, ast.AsyncFor, ast.While))]


def _leaves_by(statement: ast.AST, ends: tuple[type[ast.stmt], ...], *, in_loop: bool) -> bool:
    """Whether a statement, or one in it, is such an end, or leaves the iteration that it is in."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    if isinstance(statement, ends) or (in_loop and isinstance(statement, (ast.Continue, ast.Break))):
        return True
    inner = in_loop and not isinstance(statement, (ast.For, ast.While))
    parts = (part for part in ast.iter_child_nodes(statement) if isinstance(part, (ast.stmt, ast.ExceptHandler)))
    return any(_leaves_by(part, ends, in_loop=inner) for part in parts)


def next_statement(facts: ModuleFacts, statement: ast.stmt) -> ast.stmt | None:
    """The statement that stands behind one in its block."""
    parent = facts.parents.get(statement)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and statement in block[:-1]:
            following: ast.stmt = block[block.index(statement) + 1]
            return following
    return None


def leaves(statement: ast.stmt) -> bool:
    """Whether it is `return`, `raise`, `continue`, `break`, or a call that ends the process."""
    if isinstance(statement, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
        return True
    call = statement.value if isinstance(statement, ast.Expr) else None
    name = last_name(call.func) if isinstance(call, ast.Call) else ""
    return name in ("exit", "_exit", "quit", "abort")


def _holds(node: ast.expr | ast.stmt, site: SourceSite) -> bool:
    start, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    return start <= (site.line, site.column - 1) <= end
