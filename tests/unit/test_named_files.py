"""What the program says names no file that an installed copy does not have."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "ddpdoctor"
#: a file of the repository beside the package, but not the path of a URL
_BESIDE = re.compile(r"(?<![\w/.-])(?:docs|tests|benchmarks)/[\w./-]+|(?<![\w/.-])(?:README|CHANGELOG)\.md")


#: folders whose docstrings are what `explain` shows; elsewhere they are for who reads the source
_PAGES = ("rules", "checks")


def _named(source: str, *, pages: bool = True) -> list[str]:
    tree = ast.parse(source)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        found
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if pages or id(node) not in docstrings
        for found in _BESIDE.findall(node.value)
    ]


def test_no_text_of_the_package_names_a_file_beside_it() -> None:
    named = {
        str(path.relative_to(PACKAGE)): found
        for path in sorted(PACKAGE.rglob("*.py"))
        if "fixtures" not in path.parts
        and (found := _named(path.read_text(encoding="utf-8"), pages=path.parent.name in _PAGES))
    }
    assert named == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("run it there; see docs/attach.md", ["docs/attach.md"]),
        ("https://pytorch.org/docs/stable/x.html", []),
        ("see README.md", ["README.md"]),
        ("/home/ada/docs/a.md", []),
    ],
)
def test_what_counts_as_a_name(text: str, found: list[str]) -> None:
    assert _named(f"print({text!r})") == found
