"""Names that a setting must have for a line to run, and files that mention them."""

from __future__ import annotations

import ast

import pytest

from ddpdoctor.lint.deferred import asked_values


@pytest.mark.parametrize(
    ("test", "asked"),
    [
        ('data == "digits"', [("data", ("digits",))]),
        ('args.data == "digits" and ready', [("data", ("digits",))]),
        ('data in ("digits", "letters")', [("data", ("digits", "letters"))]),
        ('data != "digits"', []),
        ('data == "digits" or ready', []),
        ("data in known", []),
        ("data == 3", []),
        ('"digits" == data', []),
    ],
)
def test_what_a_line_asks_for(test: str, asked: list[tuple[str, tuple[str, ...]]]) -> None:
    tree = ast.parse(f"if {test}:\n    fetch()\nelse:\n    other()\n")
    assert list(asked_values.asked_at(tree, 2)) == asked
    assert list(asked_values.asked_at(tree, 4)) == []


@pytest.mark.parametrize(
    ("program", "mentioned"),
    [
        ('if data == "digits": pass', False),
        ('if data in ("digits", "letters"): pass', False),
        ("from shop import digits\n# digits", False),
        ('folder = "digits-2"', False),
        ('fetch("digits")', True),
        ('option(choices=["digits", "letters"])', True),
        ('option(help="digits or letters")', True),
        ('if "digits": (', True),
    ],
)
def test_a_program_that_mentions_a_name(program: str, mentioned: bool) -> None:
    assert asked_values.mentions(program.encode(), "digits") is mentioned
