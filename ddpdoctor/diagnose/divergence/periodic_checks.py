"""Conditions that hold every so many rounds: ranks that go round together decide them alike."""

from __future__ import annotations

import ast

from ddpdoctor.model.stacks import Site
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.program import Program

_SIMPLE = (ast.Name, ast.Attribute, ast.Constant, ast.BinOp)


def asks_periodic(program: Program, site: Site) -> bool:
    """Whether the `if` on this line tests only whether a counter is due: `step % every == 0`, `not (n + 1) % 10`."""
    tree = program.tree(site.file)
    nodes = walk(tree) if tree else ()
    test = next((node.test for node in nodes if isinstance(node, ast.If) and node.lineno == site.line), None)
    return test is not None and _due(test) and any(_takes_remainder(node) for node in walk(test))


def _takes_remainder(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)


def _due(test: ast.expr) -> bool:
    match test:
        case ast.BoolOp(values=parts):
            return all(_due(part) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=part):
            return _due(part)
        case ast.Compare(left=left, comparators=others):
            return all(_counts(part) for part in (left, *others))
    return _counts(test)


def _counts(expression: ast.expr) -> bool:
    """Whether it is arithmetic of names and numbers alone."""
    return all(isinstance(node, _SIMPLE) for node in walk(expression))
