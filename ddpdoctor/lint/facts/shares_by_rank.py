"""Shares that a rank takes of a list by its number, as they are written: `rows[rank::world]`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.text import text_of

#: functions that bring what one rank has to the others
_SENDING = ("broadcast", "scatter", "all_gather", "sync_")
#: what gives every so many elements, with as many arguments
_ISLICE, _WITH_STEP = "islice", 4
_CUTTING = frozenset({"array_split", "tensor_split", "chunk", "view", "reshape"})


def taken(scope: ast.AST, name: str, line: int) -> ast.expr | None:
    """Where a function takes the rank's share of a list, as it is written, behind a line; None if it does not, or if
    something in between may have brought one order to all ranks."""
    if not name:
        return None
    ranks = _of_rank(scope)
    nodes = [node for node in walk(scope) if getattr(node, "lineno", 0) > line]
    share = next((node for node in nodes if isinstance(node, ast.expr) and _is_share(node, name, ranks)), None)
    if share is None:
        return None
    between = (last_name(n.func) for n in nodes if isinstance(n, ast.Call) and n.lineno <= share.lineno)
    return None if any(word in called for called in between for word in _SENDING) else share


def name_of_order(scope: ast.AST, call: ast.Call) -> str:
    """The list that a call has put into another order: its argument, or what its result is assigned to."""
    for node in walk(scope):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and call in walk(node.value):
            return text_of(node.targets[0])
    return text_of(call.args[0]) if call.args and last_name(call.func) == "shuffle" else ""


def is_by_rank(scope: ast.AST, node: ast.expr) -> bool:
    """Whether an expression in a function has a rank in it, or a variable that is computed from one."""
    return _is_by_rank(node, _of_rank(scope))


def _of_rank(scope: ast.AST) -> set[str]:
    """The variables of a function that are computed from a rank: `slot = self.rank * workers + worker`."""
    assigned = [(n.targets[0], n.value) for n in walk(scope) if isinstance(n, ast.Assign) and len(n.targets) == 1]
    names: set[str] = set()
    known = -1
    while known < len(names):
        known = len(names)
        names.update(t.id for t, value in assigned if isinstance(t, ast.Name) and _is_by_rank(value, names))
    return names


def _is_by_rank(node: ast.expr | None, names: set[str]) -> bool:
    """Whether an expression has a rank in it, or a variable that was computed from one."""
    parts = walk(node) if node is not None else ()
    words = {last_name(n) for n in parts if isinstance(n, (ast.Name, ast.Attribute))}
    return bool(words & names) or heuristics.NAMES_RANK.found_in_any(words)


def _is_share(node: ast.expr, name: str, ranks: set[str]) -> bool:
    if isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Slice):
            return text_of(node.value) == name and _is_by_rank(node.slice.lower, ranks)
        cut = node.value if isinstance(node.value, ast.Call) else None
        return cut is not None and _cuts(cut, name) and _is_by_rank(node.slice, ranks)
    if isinstance(node, ast.Call) and last_name(node.func) == _ISLICE and len(node.args) == _WITH_STEP:
        return text_of(node.args[0]) == name and _is_by_rank(node.args[1], ranks)
    return isinstance(node, (ast.ListComp, ast.GeneratorExp)) and any(
        _enumerates(part.iter, name) and any(_is_by_rank(test, ranks) for tests in part.ifs for test in _sides(tests))
        for part in node.generators
    )


def _cuts(call: ast.Call, name: str) -> bool:
    given = (*call.args, call.func.value) if isinstance(call.func, ast.Attribute) else call.args
    return last_name(call.func) in _CUTTING and any(text_of(part) == name for part in given)


def _enumerates(over: ast.expr, name: str) -> bool:
    return isinstance(over, ast.Call) and last_name(over.func) == "enumerate" and any(
        text_of(part) == name for part in over.args
    )  # fmt: skip


def _sides(test: ast.expr) -> Iterator[ast.expr]:
    """The sides of `index % world == rank`."""
    if isinstance(test, ast.Compare) and any(isinstance(n, ast.Mod) for n in walk(test)):
        yield from (test.left, *test.comparators)
