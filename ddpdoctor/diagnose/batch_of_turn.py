"""Loops of which every turn takes one batch by `next(...)`, and whose turns the data or a counter of turns limits."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.loop_exits import leaves
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.program import Program
from ddpdoctor.program.turn_counters import counts_every_turn

#: parts of an expression that need not be evaluated, or may be more than once
_NOT_ONCE = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_UNLIKE = (ast.IsNot, ast.NotEq)


def is_one_of_each_turn(code: Mapping[str, SourceFile], site: Site) -> bool:
    """Whether the line takes one batch in each turn of the loop around it, and a turn that does nothing with its batch
    is a turn less: the loop ends with the data, or after a number of turns. A `for` takes its own so.

    Where turns are counted only if something was done with the batch, a bad one is replaced by the next.
    """
    loop = enclosing.loop_around(Program(code), site)
    if loop is None:
        return False
    batches = _batches(loop, site.line)

    def has_no_more(node: ast.AST) -> bool:
        return _has_no_more(node, batches)

    if isinstance(loop, (ast.For, ast.AsyncFor)):
        return loop.lineno == site.line or (_is_unconditional(loop.body, site.line) and not leaves(loop, has_no_more))
    if not isinstance(loop, ast.While) or leaves(loop, has_no_more):
        return False
    if loop.lineno == site.line:
        return _asks_for_more(loop.test)
    return _is_unconditional(loop.body, site.line) and (_is_true(loop.test) or _counts(loop))


def _is_unconditional(body: Iterable[ast.stmt], line: int) -> bool:
    for statement in body:
        if not statement.lineno <= line <= (statement.end_lineno or statement.lineno):
            continue
        if isinstance(statement, (ast.Try, ast.With)):
            return _is_unconditional(statement.body, line)
        once = isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr))
        return once and not any(isinstance(node, _NOT_ONCE) for node in walk(statement))
    return False


def _asks_for_more(test: ast.expr) -> bool:
    """`(batch := next(rows, None)) is not None`."""
    match test:
        case ast.Compare(left=ast.NamedExpr(value=ast.Call(func=ast.Name(id="next"))), ops=[how]):
            return isinstance(how, _UNLIKE)
    return False


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)


def _counts(loop: ast.While) -> bool:
    """`step < most`, with `step += 1` in every turn."""
    match loop.test:
        case ast.Compare(left=counter, ops=[ast.Lt() | ast.LtE() | ast.NotEq()]):
            return counts_every_turn(loop, last_name(counter))
    return False


def _batches(loop: ast.AST, line: int) -> frozenset[str]:
    """What the line takes is assigned to these."""
    targets: list[ast.expr] = []
    for node in walk(loop):
        match node:
            case ast.Assign(targets=found) if node.lineno <= line <= (node.end_lineno or line):
                targets += found
            case ast.AnnAssign(target=target) | ast.NamedExpr(target=target) if node.lineno == line:
                targets.append(target)
    return frozenset(last_name(target) for target in targets) - {""}


def _has_no_more(node: ast.AST, batches: frozenset[str]) -> bool:
    """`except StopIteration:`, and `if batch is None:` without an `else`."""
    match node:
        case ast.ExceptHandler(type=kind):
            return last_name(kind) == "StopIteration"
        case ast.If(test=ast.Compare(left=asked, ops=[ast.Is()], comparators=[ast.Constant(value=None)]), orelse=[]):
            return last_name(asked) in batches
    return False
