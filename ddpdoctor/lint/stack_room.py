"""Room for recursion: memory for the frames of nested calls that the system is asked for once."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

A = TypeVar("A")

#: Values for which the roomy frame has place, 8 bytes each. Python keeps frames in pieces of 16 KB, and gives a piece
#: back when the last frame in it returns: where a recursion goes up and down over the end of a piece, each such call
#: maps memory and unmaps it, which was a tenth of a run. A larger frame gets a piece of its own, whose size is a power
#: of two, and the frames of what it calls are put behind it: here into one MB, which a thousand nested calls hardly
#: fill. Memory that no frame ever lies in costs nothing.
ROOM = 1 << 17


def with_room(work: Callable[[], A]) -> A:
    """What `work` gives, from calls whose frames lie in one piece of memory."""
    given: A = _roomy(work)
    return given


def _called(work: Callable[[], Any]) -> Any:
    return work()


_roomy = FunctionType(_called.__code__.replace(co_stacksize=ROOM), globals())
