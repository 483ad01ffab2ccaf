"""What a file imports, by its text."""

from __future__ import annotations

import pytest

from ddpdoctor.program.imports import imported


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("import a, b.c as d", ["a", "b.c"]),
        ("from a import b, c as d  # both", ["a", "a.b", "a.c"]),
        ("from a.b import (\n    c,  # one\n    d as e,\n)", ["a.b", "a.b.c", "a.b.d"]),
        ("def f():\n    from . import sibling", ["pack.sub", "pack.sub.sibling"]),
        ("from .sibling import x", ["pack.sub.sibling", "pack.sub.sibling.x"]),
        ("from ..other import x", ["pack.other", "pack.other.x"]),
        ("from a import *", ["a"]),
        ("important = 1\nfrom_here = 2", []),
    ],
)
def test_targets(text: str, targets: list[str]) -> None:
    assert list(imported(text, "pack.sub.train")) == targets


def test_a_package_s_own_names() -> None:
    assert list(imported("from .a import b", "pack", package=True)) == ["pack.a", "pack.a.b"]
