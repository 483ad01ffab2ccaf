"""Identity of unknowns: symbols of equal structure share a number, all others have different numbers.

A structure is a tuple of everything that distinguishes an unknown from others: a word for what it is, the symbols and
constants that it is computed from, a place, the `id` of a syntax node. The structures that more than one module builds
are defined here (`operation` and `file_question`); all others begin with a word of the module that builds them.

Numbers are never reused, so nothing left over from a finished analysis equals anything later. The table of structures
lives as long as someone holds it (`hold`): a process that lints thousands of files keeps only the current file's.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

_numbers: dict[tuple[object, ...], int] = {}
#: comparisons with a text, by their number: what is compared, and the text
_texts: dict[int, tuple[object, object]] = {}
_next = count(1).__next__
#: a number that no structure has
NO_SYMBOL = 0


def number(structure: tuple[object, ...]) -> int:
    """The number of a structure; one that cannot be compared (it holds a list) gets a new number each time."""
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
    typed = tuple(map(_typed, arguments))
    made = number((positive, *typed))
    if positive == "Eq" and len(typed) == 2 and isinstance(typed[1], tuple) and typed[1][:1] == (str,):
        _texts[made] = (typed[0], typed[1])
    return made, positive is not name


def exclude(one: int, two: int) -> bool:
    """Whether two unknowns cannot both be true: what one unknown is compared with are two texts."""
    of_one, of_two = _texts.get(one), _texts.get(two)
    return of_one is not None and of_two is not None and of_one[0] == of_two[0] and of_one[1] != of_two[1]


def excluded(one: int, known: Mapping[int, bool]) -> bool:
    """Whether an unknown cannot be true beside those that are: few unknowns compare anything with a text."""
    return one in _texts and any(held and exclude(one, other) for other, held in known.items())


def file_question(path: object, what: str) -> int:
    """The number of the answer to "does a file, a folder, anything (`what`) exist at `path`": equal
    questions share it.
    """
    return number(("file", path, what))


def _typed(argument: Any) -> object:
    kind = argument.__class__
    if kind is tuple:
        return tuple(map(_typed, argument))
    if kind is float:
        return kind, repr(argument)  # distinguishes 0.0 and -0.0
    return kind, argument


def structures() -> dict[int, tuple[object, ...]]:
    """The structure of each unknown by its number, for the few that ask what an unknown was computed from."""
    return {made: structure for structure, made in _numbers.items()}


class Held:
    """A reference that keeps the table alive while symbols are compared."""

    __slots__ = ("__weakref__",)


_held: weakref.ref[Held] | None = None


def hold() -> Held:
    """Keep the table as long as the returned object lives; it is emptied when the last reference goes."""
    global _held
    held = _held() if _held is not None else None
    if held is None:
        held = Held()
        _held = weakref.ref(held, lambda _: _forget())
    return held


def _forget() -> None:
    _numbers.clear()
    _texts.clear()
