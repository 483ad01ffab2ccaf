"""What a turn of a loop leaves other than it found it, as it is at the beginning of any turn: attributes, and lists
that the loop adds to."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ddpdoctor.lint.interpreter.container_mutation import LENGTHENING
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.values.abstract_objects import Items
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Taint, Value, unknown
from ddpdoctor.program.nodes import walk

#: a value by the object and the name of its attribute
Stores = Mapping[tuple[int, str], Value]


def widened(machine: Machine, frame: Frame, before: Stores, loop: ast.AST) -> None:
    """Forget the constants that a turn, which was only tried out, has left in attributes: a count is one more in each
    turn, and a flag may be as it was before the loop.

    What a rank or this rank's data decides stays, and so do objects: rules read how these came about.
    """
    for place, left in frame.stores.items():
        found = before.get(place)
        if left is not found and left != found and left.known and len(left.atoms) == 1:
            alike = found is not None and found.taint <= Taint.GIVEN
            start = unknown("loop", id(loop), *place, taint=Taint.GIVEN if alike else Taint.UNKNOWN, tags=left.tags)
            frame.stores[place] = machine.heap[place] = start


def lengthened(env: Mapping[str, Value], loop: ast.AST) -> dict[str, Value]:
    """The lists that are known element by element before a loop which adds to them: there may be more."""
    names = [name for name in _lengthened(loop) if name in env]
    return {name: env[name].tagged(Tag.GROWS) for name in names if isinstance(env[name].object, Items)}


def _lengthened(loop: ast.AST) -> frozenset[str]:
    """The variables that the loop appends to."""
    known: frozenset[str] | None = loop.__dict__.get("_lengthened")
    if known is None:
        called = (node.func for node in walk(loop) if isinstance(node, ast.Call))
        owners = (func.value for func in called if isinstance(func, ast.Attribute) and func.attr in LENGTHENING)
        known = frozenset(owner.id for owner in owners if isinstance(owner, ast.Name))
        loop.__dict__["_lengthened"] = known
    return known
