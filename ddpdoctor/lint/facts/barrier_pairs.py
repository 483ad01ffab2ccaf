"""Barriers in pairs: one that the first rank makes and one that the others make, so that each rank makes one.

`if rank not in [-1, 0]: barrier()`, what only the first rank does before the others, `if rank == 0: barrier()`. Where
the number is computed in several ways, the two conditions cannot be compared by value, but by how they are written.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.ranks.divergence import CollectiveDivergence
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.text import text_of

#: numbers that are tested for: the first rank, and no rank at all
_FIRST, _NONE = 0, -1


def is_paired(facts: ModuleFacts, item: CollectiveDivergence) -> bool:
    """Whether the function has as many barriers for the first rank as for all others, this one among them."""
    if item.op.op != "barrier" or item.branch.site.file != facts.module.path:
        return False
    function = innermost_function(facts.module.tree, item.branch.site.line) or facts.module.tree
    found = {branch.lineno: side for branch, side in _sides(function)}
    mine = found.get(item.branch.site.line)
    if mine is None:
        return False
    counted = Counter(found.values())
    return counted[mine[0], True] == counted[mine[0], False]


def _sides(function: ast.AST) -> Iterator[tuple[ast.If, tuple[str, bool]]]:
    """Every branch that makes one barrier: what its condition tests, and whether it is the first rank's."""
    for branch in walk(function):
        if not isinstance(branch, ast.If):
            continue
        tested, made = _tested(branch.test), [_barriers(block) for block in (branch.body, branch.orelse)]
        if tested is not None and sorted(made) == [0, 1]:
            text, first = tested
            yield branch, (text, first if made[0] else not first)


def _barriers(block: list[ast.stmt]) -> int:
    calls = (node for statement in block for node in walk(statement) if isinstance(node, ast.Call))
    return sum(last_name(call.func) == "barrier" for call in calls)


def _tested(test: ast.expr) -> tuple[str, bool] | None:
    """What a condition compares, and True if only the first rank passes, False if all others do; None for any other."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _tested(test.operand)
        return (inner[0], not inner[1]) if inner is not None else None
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    operator, numbers, text = test.ops[0], _numbers(test.comparators[0]), text_of(test.left)
    if isinstance(operator, (ast.Eq, ast.NotEq, ast.Gt)) and numbers == {_FIRST}:
        return text, isinstance(operator, ast.Eq)
    if isinstance(operator, (ast.In, ast.NotIn)) and numbers == {_FIRST, _NONE}:
        return text, isinstance(operator, ast.In)
    return None


def _numbers(node: ast.expr) -> set[object]:
    """The constants that are compared with; empty if any of them is no constant."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return set()
    return set(value) if isinstance(value, (list, tuple, set)) else {value}
