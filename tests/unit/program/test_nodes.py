"""Walking syntax trees."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ddpdoctor.program import nodes

FIXTURES = sorted((Path(__file__).parents[3] / "fixtures").glob("*/broken.py"))
#: contexts and operators, which nobody asks for
BARREN = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)


@pytest.mark.parametrize("path", FIXTURES[::8], ids=lambda p: p.parent.name)
def test_the_nodes_are_those_of_ast_walk(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert nodes.walk(tree) == [node for node in ast.walk(tree) if not isinstance(node, BARREN)]


def test_every_node_but_the_first_stands_in_another() -> None:
    tree = ast.parse("def f(*, x, y=1):\n    return {**x, 1: [y]}")
    found = nodes.walk(tree)
    parents = nodes.parents(found)
    assert parents.keys() == {*found[1:]}
    assert all(node in ast.iter_child_nodes(parent) for node, parent in parents.items())


@pytest.mark.parametrize(
    ("text", "parts"), [("a.b.c", ["a", "b", "c"]), ("a", ["a"]), ("f().b", []), ("a[0].b", []), ("1", [])]
)
def test_dotted(text: str, parts: list[str]) -> None:
    assert nodes.dotted(ast.parse(text, mode="eval").body) == parts
    assert nodes.dotted(None) == []
