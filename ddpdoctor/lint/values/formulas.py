"""Conditions as formulas: what unknown conditions are made of, and whether several can hold at once.

Of conditions on the number of a turn it is known that `(i + 1) % n == 0` and `i % n == n - 1` are one, that
`i + 1 >= n` is the last turn as `i == n - 1` is, and that no turn is at two places of one window.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from itertools import product

from ddpdoctor.lint.values.values import Atom, Symbol, Taint
from ddpdoctor.model.named_tuple import NamedTuple

#: symbols in which a condition is looked into, one in another
_DEPTH = 12
#: most unknowns of which one is made that are looked at
_LOOKED_INTO = 200
#: most conditions of which all combinations are tried
_MOST = 12


class Window(NamedTuple):
    """`(counter + shift) % every == 0`, by the numbers of the unknowns; a constant `every` is negative."""

    counter: int
    shift: int
    every: int


class Reached(NamedTuple):
    """`counter == bound + more`; of the constant `bound` 0, by its number NO_BOUND."""

    counter: int
    bound: int
    more: int


class Plain(NamedTuple):
    """A condition of which no more is known."""

    key: int


Unknown = Window | Reached | Plain
NO_BOUND = 0
#: the number of what is neither an unknown nor a number
_NOTHING = -1


class Linear(NamedTuple):
    """An unknown and what is added to it; no unknown, NO_BOUND, for a constant."""

    key: int
    more: int


class Formula(NamedTuple):
    """`name` is "and", "or", "not" of its parts, or "is" of one unknown; "and" of nothing holds."""

    name: str
    parts: tuple[Formula, ...] = ()
    unknown: Unknown | None = None


HOLDS = Formula("and")
FAILS = Formula("or")
#: a condition of which nothing is known
UNSEEN = Formula("is", unknown=Plain(NO_BOUND))


def denied(one: Formula) -> Formula:
    return one.parts[0] if one.name == "not" else Formula("not", (one,))


def all_of(parts: Iterable[Formula]) -> Formula:
    return Formula("and", tuple(parts))


def any_of(parts: Iterable[Formula]) -> Formula:
    return Formula("or", tuple(parts))


def unknowns(one: Formula) -> set[Unknown]:
    """What a formula is made of."""
    own = {one.unknown} if one.unknown is not None else set()
    return own.union(*(unknowns(part) for part in one.parts))


def holds(one: Formula, known: Mapping[Unknown, bool]) -> bool:
    if one.unknown is not None:
        return known[one.unknown]
    if one.name == "not":
        return not holds(one.parts[0], known)
    parts = (holds(part, known) for part in one.parts)
    return all(parts) if one.name == "and" else any(parts)


def can_hold(one: Formula, known: Mapping[Unknown, bool] | None = None) -> bool:
    """Whether a formula can hold where this is known; a large one is said not to."""
    fixed = dict(known or {})
    free = sorted(unknowns(one) - fixed.keys(), key=repr)
    if len(free) > _MOST:
        return False
    for chosen in product((False, True), repeat=len(free)):
        truths = {**fixed, **dict(zip(free, chosen, strict=True))}
        if _is_possible(truths) and holds(one, truths):
            return True
    return False


def _is_possible(truths: Mapping[Unknown, bool]) -> bool:
    """Whether no turn would be at two places of a window, or at two distances from an end."""
    places = [one for one, held in truths.items() if held and not isinstance(one, Plain)]
    kinds = {(type(one), one[0], one.every if isinstance(one, Window) else one.bound) for one in places}
    return len(kinds) == len(places)


class Reader:
    """Reads conditions by the structures of their unknowns (see `symbols`)."""

    def __init__(self, structures: Mapping[int, tuple[object, ...]]) -> None:
        self._structures = structures
        #: unknowns of which a remainder was asked: they count something
        self._counters: set[int] = set()

    def learn(self, conditions: Iterable[Atom]) -> None:
        """Which unknowns are counters: those of which these conditions ask a remainder."""
        for condition in conditions:
            for key in inside(self._structures, condition.key) if isinstance(condition, Symbol) else ():
                made = self._made(key)
                if made is not None and made[0] == "Mod":
                    self._counters.add(self.linear(made[1]).key)

    def counts(self, key: int) -> bool:
        """Whether an unknown is the number of a turn, or a counter."""
        return key in self._counters or self._structures.get(key, ("",))[0] in ("index", "loop")

    def depends(self, one: Unknown) -> bool:
        """Whether a condition is computed from a counter."""
        if not isinstance(one, Plain):
            return self.counts(one.counter)
        return any(self.counts(key) for key in inside(self._structures, one.key))

    def computed(self, key: int) -> tuple[str, Linear, Linear] | None:
        """The operator whose result an unknown is, and its two sides."""
        made = self._made(key)
        return (made[0], self.linear(made[1]), self.linear(made[2])) if made is not None else None

    def formula(self, atom: Atom, depth: int = 0) -> Formula:
        """What a condition, or the truth of a value, asks."""
        if not isinstance(atom, Symbol):
            return HOLDS if atom else FAILS
        structure = self._structures.get(atom.key, ())
        if len(structure) == 3 and structure[0] in ("and", "or") and depth < _DEPTH:
            read = Formula(str(structure[0]), tuple(self.formula(side, depth + 1) for side in structure[1:]))
        else:
            read = self._asked(atom.key)
        return denied(read) if atom.negated else read

    def _asked(self, key: int) -> Formula:
        made = self._made(key)
        found = self._compared(*made) if made is not None else None
        return found or Formula("is", unknown=Plain(key))

    def _compared(self, name: str, left: Atom, right: Atom) -> Formula | None:
        if name == "Mod":
            window = self._window(left, right, 0)
            return denied(Formula("is", unknown=window)) if window is not None else None
        if name == "Eq":
            window = self._in_window(left, right) or self._in_window(right, left)
            if window is not None:
                return Formula("is", unknown=window)
        return self._reached(name, self.linear(left), self.linear(right))

    def _in_window(self, left: Atom, right: Atom) -> Window | None:
        """`counter % every == right`"""
        inner = self._made(left.key) if isinstance(left, Symbol) else None
        if inner is None or inner[0] != "Mod":
            return None
        every, place = self.linear(inner[2]), self.linear(right)
        if place.key not in (NO_BOUND, every.key):
            return None
        return self._window(inner[1], inner[2], place.more - every.more if place.key else place.more)

    def _window(self, counter: Atom, every: Atom, place: int) -> Window | None:
        counted, size = self.linear(counter), self.linear(every)
        if not counted.key or (size.key and size.more):
            return None
        shift = counted.more - place
        if size.key:
            return Window(counted.key, shift, size.key)
        return Window(counted.key, shift % size.more, -size.more) if size.more > 1 else None

    def _reached(self, name: str, left: Linear, right: Linear) -> Formula | None:
        """A counter that is compared with an end; that it is beyond the end is that it is there."""
        if name not in _TURNED:
            return None
        if not self.counts(left.key):
            name, left, right = _TURNED[name], right, left
        if not self.counts(left.key):
            return None
        more = right.more - left.more + (name in ("Gt", "LtE"))
        there = Formula("is", unknown=Reached(left.key, right.key, more))
        return denied(there) if name in ("Lt", "LtE") else there

    def linear(self, atom: Atom) -> Linear:
        """An atom as an unknown and a number that is added to it."""
        more = 0
        for _ in range(_DEPTH):
            if _is_number(atom):
                return Linear(NO_BOUND, more + atom)
            made = self._made(atom.key) if isinstance(atom, Symbol) else None
            if made is None:
                break
            name, left, right = made
            if name in ("Add", "Sub") and _is_number(right):
                atom, more = left, more + (right if name == "Add" else -right)
            elif name == "Add" and _is_number(left):
                atom, more = right, more + left
            else:
                break
        return Linear(atom.key if isinstance(atom, Symbol) else _NOTHING, more)

    def _made(self, key: int) -> tuple[str, Atom, Atom] | None:
        """The operator whose result an unknown is, and its two sides."""
        structure = self._structures.get(key, ())
        if len(structure) != 3 or not isinstance(structure[0], str) or structure[0] not in _OPERATORS:
            return None
        return structure[0], _untyped(structure[1]), _untyped(structure[2])


def inside(structures: Mapping[int, tuple[object, ...]], key: int, ends: Container[object] = ()) -> set[int]:
    """The unknowns that one is computed from, itself included; not what those are of that begin with one of the words
    `ends`."""
    found: set[int] = set()
    left: list[object] = [Symbol(key, Taint.UNKNOWN)]
    while left and len(found) < _LOOKED_INTO:
        part = left.pop()
        if isinstance(part, Symbol):
            if part.key not in found:
                found.add(part.key)
                structure = structures.get(part.key, ("",))
                left += structure if structure[0] not in ends else ()
        elif part.__class__ is tuple:
            left += part
    return found


def _is_number(atom: Atom) -> bool:
    return isinstance(atom, int) and not isinstance(atom, bool)


def _untyped(side: object) -> Atom:
    """One side in the structure of an operation: (its type, itself), or the atoms of a value."""
    if isinstance(side, tuple) and not isinstance(side, Symbol):
        return side[-1] if side and (len(side) == 1 or side[0] is type(side[-1])) else None
    return side


_OPERATORS = frozenset({"Mod", "Eq", "Lt", "LtE", "Gt", "GtE", "Add", "Sub", "Mult", "FloorDiv", "Div"})
#: comparisons, and what they are with their sides exchanged
_TURNED = {"Eq": "Eq", "Lt": "Gt", "LtE": "GtE", "Gt": "Lt", "GtE": "LtE"}
