"""The source of a node, as messages show it."""

from __future__ import annotations

import ast

#: characters of source shown for a condition
SHOWN = 60


def text_of(node: ast.AST) -> str:
    """The source of a small expression on one line."""
    # a node is asked for its text each time that it is simulated: the node itself remembers
    known: str | None = node.__dict__.get("_text")
    if known is None:
        try:
            text = _plain_text(node) or " ".join(ast.unparse(node).split())
        except RecursionError:
            text = "..."
        known = node.__dict__["_text"] = text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
    return known


def _plain_text(node: ast.AST) -> str:
    """What `ast.unparse` gives for names and their attributes, for a fraction of its time; "" for all else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _plain_text(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return ""
