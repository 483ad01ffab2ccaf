"""Turns of a loop that a handler of exceptions skips on the rank whose own data raised one: the others go on to a
collective behind the block."""

from __future__ import annotations

import ast

from ddpdoctor.lint.facts import exception_handlers
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.trace import Op
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.truths import rank_decided
from ddpdoctor.lint.values.values import Taint, Value


def missed(facts: ModuleFacts, node: ast.Try, handler: ast.ExceptHandler) -> Op | None:
    """A collective later in the loop's turn, which a rank misses once its batch has raised an exception in the block;
    None if nothing shows that the block works on the rank's own batch."""
    if not any(isinstance(statement, ast.Continue) for statement in handler.body) or exception_handlers.acts(handler):
        return None
    if not _works_on_batch(facts, node):
        return None
    first, last = exception_handlers.lines_of([*node.body, *handler.body])
    for begin, end in _later_in_turn(facts, node):
        for item in facts.reached:
            index = item.within(facts.module.path, begin, end)
            alone = any(rank_decided(branch.truth) for branch in item.under)
            if index is not None and not alone and not first <= item.way[index].line <= last:
                return item.op
    return None


def _works_on_batch(facts: ModuleFacts, node: ast.Try) -> bool:
    """Whether a call in the block is given data of a batch that is this rank's own."""
    first, last = exception_handlers.lines_of(node.body)
    for call in facts.calls:
        if not any(map(_is_of_batch, call.args)) and not any(_is_of_batch(value) for _, value in call.keywords):
            continue
        for site in (*call.context.chain, call.site):
            if first <= site.line <= last and site.file == facts.module.path:
                return True
    return False


def _is_of_batch(value: Value) -> bool:
    return value.taint is Taint.RANK_LOCAL and bool(value.tags & Tag.BATCH)


def _later_in_turn(facts: ModuleFacts, node: ast.Try) -> list[tuple[int, int]]:
    """First and last lines of what runs behind the block until the loop's turn ends."""
    found: list[tuple[int, int]] = []
    inner: ast.AST = node
    while (outer := facts.parents.get(inner)) is not None:
        blocks = (getattr(outer, name, None) for name in ("body", "orelse", "finalbody"))
        block = next((b for b in blocks if isinstance(b, list) and inner in b), None)
        after = block[block.index(inner) + 1 :] if block is not None else []
        if inner is node:
            after = [*node.orelse, *after]
        found += [exception_handlers.lines_of(after)] if after else []
        if isinstance(outer, (ast.For, ast.While, ast.FunctionDef)):
            return [] if isinstance(outer, ast.FunctionDef) else found
        inner = outer
    return []
