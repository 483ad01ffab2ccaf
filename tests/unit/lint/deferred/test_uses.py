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
        ("def f(k: Keeper): ...\nf(None)", False),
        # what names it is not used either, or only by itself
        ("def f(k: Keeper): ...", True),
        ("def f(k: Keeper): g(k)\ndef g(k): f(k)", True),
        ("class Other:\n    def f(self):\n        return Keeper()\nOther()", True),
        ("class Other:\n    def f(self):\n        return Keeper()\nOther().f()", False),
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
    assert uses.unused_at("/a.py", 1) == ("Keeper" if unused else "")


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
    assert uses.unused_at("/a.py", 1) == ("Keeper" if unused else "")


@pytest.mark.parametrize(
    ("user", "unused"),
    [
        ("from nets.new import Keeper\nk = Keeper()", True),
        ("from nets.newer import Keeper\nk = Keeper()", True),
        ("from nets.old import Keeper\nk = Keeper()", False),
        # either may be meant
        ("from nets.old import Keeper\nfrom nets.new import Keeper\nk = Keeper()", False),
        ("from nets.old import *\nk = Keeper()", False),
        ("from nets.new import Keeper\nfrom nets.losses import *\nk = Keeper()", True),
        ("from nets.new import Keeper\nfrom nets.older import *\nk = Keeper()", False),
        ("from nets.new import Keeper\nfrom nets import old\nk = old.Keeper()", False),
        ("from nets.lost import Keeper\nk = Keeper()", False),
        ("from nets.round import Keeper\nk = Keeper()", False),
    ],
)
def test_two_classes_that_packages_hand_on(user: str, unused: bool) -> None:
    texts = {
        "/nets/old/__init__.py": "from .parts import Keeper",
        "/nets/old/parts.py": KEEPER,
        "/nets/new/__init__.py": "from .parts import Keeper",
        "/nets/new/parts.py": KEEPER,
        "/nets/newer.py": "from .new import *",
        "/nets/older.py": "from .old.parts import *",
        "/nets/losses.py": "loss = 1",
        "/nets/round.py": "from .round import Keeper",
        "/b.py": user,
    }
    uses = Uses({path: text.encode() for path, text in texts.items()})
    assert uses.unused_at("/nets/old/parts.py", 1) == ("Keeper" if unused else "")


@pytest.mark.parametrize(
    ("base", "other", "unused"),
    [
        ("", "Keeper()", "keep"),
        ("", "", "Keeper"),
        ("", "Keeper().keep()", ""),
        ("", "run(Keeper, 'keep')", ""),
        # a function of a module has the same name
        ("", "import pickle\npickle.keep(Keeper())", "keep"),
        ("", "def keep(): ...\nKeeper()", "keep"),
        # a base that is not in sight may call it
        ("Trainer", "Keeper()", ""),
        ("torch.nn.Module", "Keeper()", "keep"),
        ("Base", "class Base: ...\nKeeper()", "keep"),
        ("Base", "class Base(Trainer): ...\nKeeper()", ""),
    ],
)
def test_a_method_that_nothing_calls(base: str, other: str, unused: str) -> None:
    text = f"class Keeper({base}):\n    def keep(self):\n        pass\n"
    uses = Uses({"/a.py": text.encode(), "/b.py": other.encode()})
    assert uses.unused_at("/a.py", 3) == unused


def test_what_has_too_many_users_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = "".join(f"def f{n}():\n    f{n + 1}()\n" for n in range(20))
    uses = Uses({"/a.py": f"{chain}def f20(): ...\n".encode()})
    assert uses.unused_at("/a.py", 41) == "f20"
    monkeypatch.setattr("ddpdoctor.lint.deferred.uses.MOST_ASKED", 10)
    assert Uses({"/a.py": f"{chain}def f20(): ...\n".encode()}).unused_at("/a.py", 41) == ""
