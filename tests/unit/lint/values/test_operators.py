"""What operators make of known operands is what Python makes of them."""

from __future__ import annotations

import ast

import pytest

from ddpdoctor.lint.values.operators import OPERATORS

SYMBOLS = {
    "Add": "+", "Sub": "-", "Mult": "*", "FloorDiv": "//", "Div": "/", "Mod": "%", "BitAnd": "&", "BitOr": "|",
    "BitXor": "^", "Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Is": "is",
    "IsNot": "is not", "In": "in", "NotIn": "not in",
}  # fmt: skip
CONTAINERS = [(0, (0, 1)), (2, (0, 1)), ("a", "abc")]
NUMBERS = [(7, 2), (-7, 2), (0, 1), (3, 3), (True, False)]


def test_every_operator_is_checked_and_is_one_of_pythons() -> None:
    assert SYMBOLS.keys() == OPERATORS.keys()
    assert all(hasattr(ast, name) for name in OPERATORS)


@pytest.mark.parametrize("name", [name for name in SYMBOLS if name not in ("Is", "IsNot", "In", "NotIn")])
def test_numbers(name: str) -> None:
    for left, right in NUMBERS:
        if name not in ("Div", "FloorDiv", "Mod") or right:
            assert OPERATORS[name](left, right) == eval(f"{left} {SYMBOLS[name]} {right}")


@pytest.mark.parametrize("name", ["In", "NotIn"])
def test_containers(name: str) -> None:
    for left, right in CONTAINERS:
        assert OPERATORS[name](left, right) is eval(f"{left!r} {SYMBOLS[name]} {right!r}")


@pytest.mark.parametrize("name", ["Is", "IsNot"])
def test_singletons(name: str) -> None:
    for left in (None, True, False, 0, 1, "a"):
        for right in (None, True, False):
            assert OPERATORS[name](left, right) is ((left is right) is (name == "Is")), (left, right)
