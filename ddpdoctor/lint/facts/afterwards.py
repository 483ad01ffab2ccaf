"""What a function does after an expression of it, in the order in which it happens."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.text import text_of

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue)
#: blocks of a statement, in the order in which they run
_BLOCKS = ("body", "orelse", "finalbody")


class Step(NamedTuple):
    """A part of an expression or statement that runs."""

    node: ast.AST
    #: the names in the conditions, of what runs now, that may skip it
    under: frozenset[str]


def conditions_of(statement: ast.AST) -> frozenset[str]:
    """The names in what decides whether the blocks of a statement run."""
    if isinstance(statement, (ast.ExceptHandler, ast.match_case)):
        return frozenset({"except" if isinstance(statement, ast.ExceptHandler) else "case"})
    test = statement.test if isinstance(statement, (ast.If, ast.IfExp)) else None
    return _names(test) if test is not None else frozenset()


def _names(test: ast.expr) -> frozenset[str]:
    named = (n for n in walk(test) if isinstance(n, (ast.Name, ast.Attribute)))
    return frozenset(text_of(n) for n in named)


def statement_of(parents: Mapping[ast.AST, ast.AST], node: ast.AST) -> ast.stmt | None:
    """The statement that an expression is in."""
    while not isinstance(node, ast.stmt):
        if node not in parents:
            return None
        node = parents[node]
    return node


def afterwards(parents: Mapping[ast.AST, ast.AST], node: ast.AST) -> Iterator[Step]:
    """What runs after the statement of a node until its function, or what surely runs of it, ends; a loop is gone
    through once."""
    statement: ast.AST | None = statement_of(parents, node)
    while statement is not None and not isinstance(statement, (*_DEFINITIONS, ast.Module, ast.Lambda)):
        holder = parents.get(statement)
        for following in _behind(holder, statement):
            yield from _steps(following, under=frozenset())
            if isinstance(following, _LEAVES):
                return
        statement = holder


def _behind(holder: ast.AST | None, statement: ast.AST) -> list[ast.stmt]:
    """The statements that run after one within the statement that holds it."""
    found: list[ast.stmt] = []
    inside = False
    for name in _BLOCKS:
        block = getattr(holder, name, None)
        if not isinstance(block, list):
            continue
        if statement in block:
            found += block[block.index(statement) + 1 :]
            inside = True
        elif name == "finalbody" or (inside and name == "orelse" and isinstance(holder, ast.Try)):
            found += block
    return found


def _steps(statement: ast.stmt | ast.ExceptHandler | ast.match_case, *, under: frozenset[str]) -> Iterator[Step]:
    if isinstance(statement, _DEFINITIONS):
        return
    blocks = [block for name in _BLOCKS if isinstance(block := getattr(statement, name, None), list)]
    others = [*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
    if not blocks and not others:
        yield from _in_order(statement, under=under)
        return
    for head in ast.iter_child_nodes(statement):
        if not isinstance(head, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            yield from _in_order(head, under=under)
    inner_under = under | conditions_of(statement)
    for block in (*blocks[:1], others, *blocks[1:]):
        for inner in block:
            yield from _steps(inner, under=inner_under)


def _in_order(root: ast.AST, *, under: frozenset[str]) -> Iterator[Step]:
    """What is read in an expression or a simple statement, as it is written, and then what is stored."""
    nodes = [node for node in walk(root) if hasattr(node, "lineno")]
    nodes.sort(key=lambda node: (_is_stored(node), node.lineno, node.col_offset))  # type: ignore[attr-defined]
    return (Step(node, under) for node in nodes)


def _is_stored(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)
