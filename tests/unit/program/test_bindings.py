"""The names that a node binds, in whatever scope."""

from __future__ import annotations

import ast

import pytest

from ddpdoctor.program.bindings import bound_by


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a = b", {"a"}),
        ("del a", {"a"}),
        ("for a, (b, *c) in d: ...", {"a", "b", "c"}),
        ("def a(b, *c, d=e): ...", {"a", "b", "c", "d"}),
        ("class A(B): ...", {"A"}),
        ("import a.b, c as d", {"a", "d"}),
        ("from a import b, c as d", {"b", "d"}),
        ("from a import *", {"*"}),
        ("try: ...\nexcept A as b: ...", {"b"}),
        ("match a:\n    case [b, *c]: ...\n    case A() as d: ...", {"b", "c", "d"}),
        ("global a", {"a"}),
        ("a.b[c](d)", set()),
    ],
)
def test_what_a_statement_binds(text: str, names: set[str]) -> None:
    assert {name for node in ast.walk(ast.parse(text)) for name in bound_by(node)} - {""} == names
