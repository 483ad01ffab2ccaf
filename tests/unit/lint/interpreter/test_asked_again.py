"""Which side of a branch alone is taken, of what was chosen among a few constants before."""

from __future__ import annotations

import ast

import pytest

from ddpdoctor.lint.interpreter.asked_again import only_side

CHOICE = """\
def run(kind, other):
    if kind == "text":
        form = "text"
    elif kind == "scan":
        form = "3D image"
    else:
        raise ValueError(kind)
"""
LISTED = """\
def run(number):
    kinds = ["text", "scan"]
    kind = kinds[number]
    if kind == "text":
        sample = {"form": "text", "size": number}
    elif kind == "scan":
        sample = {"form": "3D image", "size": number}
"""
NOISE = '    if kind == "noise":\n        ask()\n'
ASKS = '    if "3D" in sample["form"]:\n        ask()\n'


@pytest.mark.parametrize(
    ("before", "asking", "side"),
    [
        (CHOICE, '    if form == "2D image":\n        ask()\n', False),
        (CHOICE, '    if form in ("text", "3D image"):\n        ask()\n', True),
        (CHOICE, '    if form == "text":\n        ask()\n', None),
        (CHOICE, '    if kind != "text":\n        if form == "3D image":\n            ask()\n', True),
        (CHOICE, '    if kind == "text":\n        return\n    if "3D" in form:\n        ask()\n', True),
        (CHOICE, '    if not (kind == "text" or other):\n        if "3D" in form:\n            ask()\n', True),
        (LISTED, f'    if kind == "text":\n        return\n{ASKS}', True),
        # no kind is left out, or one is
        (LISTED.replace('"scan"]', '"scan", "sound"]'), '    if kind == "text":\n        return\n' + ASKS, None),
        (LISTED.replace('"scan"]', '"scan", "sound"]'), '    if kind == "sound":\n        ask()\n', None),
        (LISTED, NOISE, False),
        # changed before it is asked
        (CHOICE, '    form = other\n    if form == "2D image":\n        ask()\n', None),
        (CHOICE, '    for form in other:\n        if form == "2D image":\n            ask()\n', None),
        (LISTED, f'    if kind == "text":\n        return\n    sample["form"] = other\n{ASKS}', None),
        (LISTED, f'    if kind == "text":\n        return\n    sample[other] = 1\n{ASKS}', None),
        (LISTED, f'    if kind == "text":\n        return\n    sample["size"] = 1\n{ASKS}', True),
        (LISTED, f'    if kind == "text":\n        return\n    sample.update(other)\n{ASKS}', None),
        (LISTED, f'    if kind == "text":\n        return\n    change(sample)\n{ASKS}', None),
        (LISTED.replace("    kind =", "    kinds.append(1)\n    kind ="), NOISE, None),
        # an attribute, which whatever is called may set
        (CHOICE.replace("kind ==", "self.kind =="), '    if self.kind == "noise":\n        ask()\n', None),
        (CHOICE.replace("kind ==", "self.kind =="), '    other()\n    if self.kind == "scan":\n        ask()\n', None),
        # each call may give another one
        (CHOICE.replace("kind ==", "kind() =="), '    if kind() == "noise":\n        ask()\n', None),
        # not every time before it
        (f"def run(kind, other):\n    if other:\n        form = 1\n{CHOICE.split(chr(10), 1)[1]}",
         '    if other == "3D image":\n        ask()\n', None),
    ],
)  # fmt: skip
def test_the_only_side(before: str, asking: str, side: bool | None) -> None:
    tree = ast.parse(before + asking)
    (function,) = tree.body
    branches = [node for node in ast.walk(function) if isinstance(node, ast.If)]
    node = next(one for one in branches if "ask()" in map(ast.unparse, one.body))
    assert only_side(function, node) is side
