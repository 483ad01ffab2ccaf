"""What makes two unknowns one: symbols of equal structure have one number, all others have numbers of their own.

A structure is a tuple of whatever tells an unknown from others: a word for what it is, the symbols and constants that
it is computed from, a place, the `id` of a syntax node. The grammar of structures that more than one module builds
stands here: `operation` and `file_question`; all others begin with a word of the module that builds them.

Numbers are never given twice, so that what is left of an analysis that has ended is equal to nothing that comes later.
The table of structures lives as long as somebody `hold`s it: a process that lints thousands of files holds those of
one.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from itertools import count
from typing import Any

_numbers: dict[tuple[object, ...], int] = {}
_next = count(1).__next__
#: the number of no structure
NO_SYMBOL = 0


def number(structure: tuple[object, ...]) -> int:
    """The number of a structure; one that cannot be compared (it holds a list) has a new one each time."""
    try:
        known = _numbers.get(structure)
        if known is None:
            known = _numbers[structure] = _next()
    except TypeError:
        known = _next()
    return known


#: `x != y` is the same unknown as `x == y`, negated
_POSITIVE = {"NotEq": "Eq", "IsNot": "Is", "NotIn": "In"}


def operation(name: str, arguments: Iterable[Any]) -> tuple[int, bool]:
    """(the number of an operator's result, whether it is negated); `name` is the operator's class in `ast`.

    Constants count with their types: `x is 1` and `x is True` are two unknowns.
    """
    positive = _POSITIVE.get(name, name)
    return number((positive, *map(_typed, arguments))), positive is not name


def file_question(path: object, what: str) -> int:
    """The number of the answer to "is there a file, a folder, anything (`what`) at `path`": one for equal questions."""
    return number(("file", path, what))


def _typed(argument: Any) -> object:
    kind = argument.__class__
    if kind is tuple:
        return tuple(map(_typed, argument))
    if kind is float:
        return kind, repr(argument)  # 0.0 and -0.0
    return kind, argument


class Held:
    """Kept by whoever compares symbols."""

    __slots__ = ("__weakref__",)


_held: weakref.ref[Held] | None = None


def hold() -> Held:
    """Keep the table for as long as what is returned; it is begun anew where nobody has kept it."""
    global _held
    held = _held() if _held is not None else None
    if held is None:
        _numbers.clear()
        held = Held()
        _held = weakref.ref(held)
    return held
