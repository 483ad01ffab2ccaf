"""The source text of a node, the node of a source text, and what of it a message shows."""

from __future__ import annotations

import ast
from typing import Any

#: most characters of source shown for a condition
SHOWN = 60


def shown(text: str) -> str:
    """Source for a message: cut where it is too long. What is judged is never cut."""
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def text_of(node: ast.AST) -> str:
    """The source of an expression on one line."""
    # the text is needed each time the node is simulated, so it is cached on the node
    known: str | None = node.__dict__.get("_text")
    if known is None:
        try:
            text = " ".join((_plain_text(node) or ast.unparse(node)).split())
        except (RecursionError, ValueError):  # nested too deeply; an integer of thousands of digits
            text = "..."
        known = node.__dict__["_text"] = text
    return known


def expression_of(text: str) -> ast.expr | None:
    """The expression that a text is the source of; None if it is of none."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None


def _plain_text(node: ast.AST) -> str:
    """The result of `ast.unparse` for the usual conditions, in a fraction of its time; "" for all others."""
    if isinstance(node, ast.UnaryOp):
        operand = _comparison(node.operand) if isinstance(node.op, ast.Not) else ""
        return f"not {operand}" if operand else ""
    return _comparison(node)


def _comparison(node: Any) -> str:
    if node.__class__ is not ast.Compare or len(node.ops) > 1:
        return _operand(node)
    left, right = _operand(node.left), _operand(node.comparators[0])
    return f"{left} {_COMPARED[node.ops[0].__class__]} {right}" if left and right else ""


def _operand(node: Any) -> str:
    kind = node.__class__
    if kind is ast.Name:
        return str(node.id)
    if kind is ast.Attribute:
        owner = _operand(node.value) if node.value.__class__ is not ast.Constant else ""
        return f"{owner}.{node.attr}" if owner else ""
    if kind is ast.Call:
        called, given = _operand(node.func), [_operand(a) for a in node.args]
        return f"{called}({', '.join(given)})" if called and all(given) and not node.keywords else ""
    if kind is ast.Constant and node.value.__class__ in _REPEATED and node.kind is None:
        return repr(node.value)
    return ""


#: constants whose source text is what `repr` writes
_REPEATED = frozenset({str, int, bool, type(None)})
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
