"""Attributes that a turn of a loop leaves other than it found them, as they are at the beginning of any turn."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.values.values import Taint, Value, unknown

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
