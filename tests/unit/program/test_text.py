"""Conditions in messages are shown as `ast.unparse` writes them, also on the fast path."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ddpdoctor.program import text

FIXTURES = sorted((Path(__file__).parents[3] / "fixtures").glob("*/broken.py"))


def _written(node: ast.expr) -> str:
    return " ".join(ast.unparse(node).split())


@pytest.mark.parametrize(
    "source",
    [
        "rank == 0", "not rank", "not a is b", "not (a and b)", "(a < b) < c", "a < b < c", "1 .real", "-1 == a",
        "f(x, *y)", "f(x)(y).z", "f(k=1)", "a[0] == 1", "u'a  b' in c", "'a  b' == \"it's\"", "'\\n' == x",
        "(lambda: 1)() == 2", "(a if b else c) == d", "(yield_ := 3) == 3", "1.5 == x", "b'a' == x", "x not in (1, 2)",
        "x is not None",
    ],
)  # fmt: skip
def test_single(source: str) -> None:
    node = ast.parse(source, mode="eval").body
    assert text.text_of(node) == _written(node)


def test_every_expression_of_the_fixtures() -> None:
    for path in FIXTURES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.expr):
                assert text.text_of(node) == _written(node)


def test_what_a_message_shows_is_cut_where_it_is_too_long() -> None:
    assert text.shown("x" * text.SHOWN) == "x" * text.SHOWN
    assert text.shown("x" * (text.SHOWN + 1)) == "x" * (text.SHOWN - 3) + "..."
