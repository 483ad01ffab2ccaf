"""F-strings of Python 3.12 are read by older parsers, too; the lines stay, and what is no such string stays."""

from __future__ import annotations

import ast

import pytest

from ddpdoctor.program import fstrings, source


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('f"{a["b"]} {c[\'d\']} {{}} {e:>{w}}"', "f\"{a['b']} {c['d']} {{}} {e:>{w}}\""),
        ('f"{f"{x}"}"', "f\"{f'{x}'}\""),
        ('f"{", ".join(a)}" + "b"', "f\"{', '.join(a)}\" + 'b'"),
        ('f"{\na\n}"', "f'{a}'"),
        ('rf"{a["\\d"]}"', "f\"{a['/d']}\""),
    ],
)
def test_what_only_newer_parsers_read(written: str, meant: str) -> None:
    parsed = source.parse(f"before = 1\n{written}\nafter = 2\n")
    assert isinstance(parsed, ast.Module)
    assert ast.unparse(parsed.body[1]).replace("\\\\d", "/d") == meant
    assert parsed.body[2].lineno == 3 + written.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        'x = "it\'s {a["',  # the quotes of a comment: f"{a["b"]}"
        "x = '''f\"{a['''",
        'f"\\N{BULLET} {a}"',
        'f"{a["',
        'f"{a:{b}"',
        "# it's\nx = 'a'  # f\"{\n",
    ],
)
def test_what_is_written_for_all_parsers_or_none(text: str) -> None:
    assert fstrings.for_older_parsers(text) == text


def test_what_no_parser_reads_keeps_its_message() -> None:
    parsed = source.parse('x = f"{a["b"]}"\nprint "a"\n')
    assert isinstance(parsed, source.Unreadable)
    assert parsed.line in (1, 2)
