"""Tags are bits that differ, each with a line that says what it means."""

from __future__ import annotations

import ast
from pathlib import Path

from ddpdoctor.lint.values import tags
from ddpdoctor.lint.values.tags import Tag

BITS = {name: bit for name, bit in vars(Tag).items() if name.isupper()}


def test_each_tag_is_one_bit_of_its_own() -> None:
    assert all(bit.bit_count() == 1 for bit in BITS.values())
    assert len(set(BITS.values())) == len(BITS)


def test_each_tag_says_what_it_means() -> None:
    lines = Path(tags.__file__).read_text(encoding="utf-8").split("\n")
    tree = ast.parse("\n".join(lines))
    cls = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Tag")
    said = {node.target.id for node in cls.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
            and lines[node.lineno - 2].strip().startswith("#: ")}  # fmt: skip
    assert said == set(BITS)


def test_every_tag_is_used() -> None:
    package = Path(tags.__file__).parents[1]
    text = "".join(p.read_text(encoding="utf-8") for p in package.rglob("*.py") if p.name != "tags.py")
    assert [name for name in BITS if f"Tag.{name}" not in text] == []


def test_a_set_is_shown_by_its_names() -> None:
    assert tags.names(Tag.BATCH | Tag.MAYBE) == ["BATCH", "MAYBE"]
    assert tags.union([Tag.BATCH, Tag.MAYBE, tags.NO_TAGS]) == Tag.BATCH | Tag.MAYBE
