"""Whether anything but its definition, imports and exports names a function or class."""

from __future__ import annotations

import pytest

from ddpdoctor.lint.deferred.uses import Uses

KEEPER = "class Keeper:\n    def keep(self):\n        pass\n"


@pytest.mark.parametrize(
    ("other", "unused"),
    [
        ("", True),
        ('from a import Keeper\n__all__ = ["Keeper"]', True),
        ('"""Keeper keeps."""\nkeepers = []', True),
        ("from a import Keeper\nk = Keeper()", False),
        ("import a\nk = a.Keeper()", False),
        ('k = make("Keeper")', False),
        ('k = make("a.Keeper")', False),
        ('k = make("a:Keeper")', False),
        ("def f(k: Keeper): ...", False),
        # a class that is derived from it, which nothing uses either
        ("class Other(Keeper): pass", True),
        ("class Other(Keeper): pass\nclass Keeper2(Other): pass", True),
        ("class Other(Keeper): pass\nk = Other()", False),
        ("@register\nclass Other(Keeper): pass", False),
        # what cannot be read may use it
        ("Keeper(", False),
    ],
)
def test_a_class_that_nothing_uses(other: str, unused: bool) -> None:
    uses = Uses({"/a.py": KEEPER.encode(), "/b.py": other.encode()})
    assert uses.unused_at("/a.py", 3) == ("Keeper" if unused else "")


def test_what_something_else_may_call() -> None:
    text = b"def f():\n    f()\n\n\n@register\ndef g():\n    pass\n\n\nx = 1\n"
    uses = Uses({"/a.py": text})
    assert [uses.unused_at("/a.py", line) for line in (2, 7, 10)] == ["f", "", ""]
    assert uses.unused_at("/b.py", 1) == ""


@pytest.mark.parametrize(
    ("user", "unused"),
    [
        ("from c import Keeper\nk = Keeper()", True),
        ("from nets.c import Keeper\nk = Keeper()", True),
        ("from a import Keeper\nk = Keeper()", False),
        # a package may hand on either
        ("from nets import Keeper\nk = Keeper()", False),
        ("import c\nk = c.Keeper()", False),
        ("class Keeper: ...\nk = Keeper()", True),
    ],
)
def test_two_classes_of_one_name(user: str, unused: bool) -> None:
    uses = Uses({"/a.py": KEEPER.encode(), "/c.py": KEEPER.encode(), "/b.py": user.encode()})
    assert uses.unused_at("/a.py", 3) == ("Keeper" if unused else "")
