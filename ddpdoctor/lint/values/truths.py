"""Truth values of conditions: true, false or unknown, for each rank."""

from __future__ import annotations

from collections.abc import Mapping

from ddpdoctor.lint.values.abstract_objects import Listed, Table
from ddpdoctor.lint.values.symbols import excluded, number
from ddpdoctor.lint.values.tags import STICKY, Tag
from ddpdoctor.lint.values.values import WORLD, Atom, Symbol, Taint, Value, join_tags, per_rank, symbol


def is_true(obj: object) -> bool:
    """Whether an object is surely neither None nor false."""
    return bool(getattr(obj, "is_truthy", False))


def surely_true(value: Value) -> bool:
    """Whether it is certainly an object, or a text with something in it, so neither None nor false."""
    if value.tags & Tag.MAYBE:
        return False
    return bool(value.tags & Tag.FILLED) or (value.object is not None and is_true(value.object))


def truth(value: Value) -> tuple[Atom, ...]:
    """True, False or a Symbol, for each rank."""
    if surely_true(value):
        return _TRUE
    if value.object is not None:
        if len(value.atoms) == 1:
            return _of_filled(value) if value.tags & Tag.UNEVEN else _of_list(value)
        # the object on some ranks, a constant on the others
        is_truthy = is_true(value.object)
        return tuple((is_truthy or a) if isinstance(a, Symbol) else bool(a) for a in value.atoms)
    atoms = value.atoms
    if len(atoms) == 1:
        return atoms if atoms[0].__class__ is Symbol else (bool(atoms[0]),)
    return tuple([a if a.__class__ is Symbol else bool(a) for a in atoms])


_TRUE = (True,)


def _of_filled(value: Value) -> tuple[Atom, ...]:
    """The truth of what has more elements on some ranks than on others: a dict that has others besides is filled on
    all of them, unless this rank's data have chosen an empty one."""
    filled = isinstance(value.object, Table) and value.object.entries and not value.tags & Tag.LOCAL_CHOICE
    return (symbol("filled", value.atoms),) if filled else value.atoms


def _of_list(value: Value) -> tuple[Atom, ...]:
    """The truth of a list with an element for each of something: its contents differ between ranks, not how many."""
    plain = isinstance(value.object, Listed) and not value.tags & (Tag.SHARD | Tag.LOCAL_CHOICE)
    return (symbol("filled", value.atoms),) if plain and value.taint is Taint.RANK_LOCAL else value.atoms


def negate(value: Value) -> Value:
    atoms = [invert(a) for a in truth(value)]
    return Value(tuple(atoms), value.taint, None, value.tags & STICKY)


def invert(atom: Atom) -> Atom:
    return Symbol(atom.key, atom.taint, not atom.negated, atom.parts) if isinstance(atom, Symbol) else not atom


def both(left: Value, right: Value, *, conjunction: bool) -> Value:
    """`left and right` or `left or right` as a truth value, rank by rank in three-valued logic."""
    a, b = truth(left), truth(right)
    width = max(len(a), len(b))
    atoms = [
        _connect(a[r] if len(a) > 1 else a[0], b[r] if len(b) > 1 else b[0], conjunction=conjunction)
        for r in range(width)
    ]
    return per_rank(atoms, join_tags((left, right)))


def _connect(a: Atom, b: Atom, *, conjunction: bool) -> Atom:
    decided = not conjunction
    if a is decided or b is decided:
        return decided
    if not isinstance(a, Symbol):
        return b
    if not isinstance(b, Symbol):
        return a
    if a == b:
        return a
    name = "and" if conjunction else "or"
    return Symbol(number((name, a, b)), max(a.taint, b.taint), parts=(name, _shallow(a), _shallow(b)))


def _shallow(symbol: Symbol, depth: int = 0) -> Symbol:
    """The symbol with its structure cut at a depth: a condition in a loop contains itself again and again."""
    if symbol.parts is None or depth > 2:
        return symbol._replace(parts=None)
    name, one, two = symbol.parts
    return symbol._replace(parts=(name, _shallow(one, depth + 1), _shallow(two, depth + 1)))


def mask_where(truths: tuple[Atom, ...], mask: int) -> tuple[int, int]:
    """The ranks of `mask` that can take the true side, and those that can take the false side."""
    if len(truths) == 1:
        return (0 if truths[0] is False else mask), (0 if truths[0] is True else mask)
    yes = no = 0
    for rank in range(WORLD):
        atom = truths[rank]
        bit = 1 << rank
        if atom is not False:
            yes |= bit
        if atom is not True:
            no |= bit
    return yes & mask, no & mask


def rank_decided(truth: tuple[Atom, ...]) -> bool:
    """Whether some rank certainly takes this side and another may not: the condition is a known function of
    the rank.
    """
    return len(truth) == WORLD and any(not isinstance(a, Symbol) for a in truth) and len({*map(repr, truth)}) > 1


def rank_local(truth: tuple[Atom, ...]) -> bool:
    """Whether the condition is data of each rank, or an unknown that is not the same on all: a counter, say, that one
    rank alone changes."""
    if len(truth) > 1:
        keys = {a.key for a in truth if isinstance(a, Symbol)}
        return all(isinstance(a, Symbol) for a in truth) and len(keys) > 1
    return isinstance(truth[0], Symbol) and truth[0].taint in (Taint.FILES, Taint.RANK_LOCAL)


def outcome(symbol: Symbol, known: Mapping[int, bool]) -> bool | None:
    """The truth of a condition that follows from those that are known, by the number of their symbol; None if none
    does."""
    if symbol.key in known:
        return known[symbol.key] is not symbol.negated
    if excluded(symbol.key, known):
        return symbol.negated
    if symbol.parts is None:
        return None
    name, *sides = symbol.parts
    values = [outcome(side, known) for side in sides]
    deciding = name == "or"
    value = deciding if deciding in values else None if None in values else not deciding
    return value if value is None else value is not symbol.negated


def implied(symbol: Symbol, truth: bool) -> dict[int, bool]:
    """What holds where a condition on something of this rank has this truth, by the number of the symbols: what it
    combines with that is equal on all ranks leaves the decision to that.

    Of `rank != 0 and distributed` both ranks that are compared are `distributed`.
    """
    value = truth is not symbol.negated
    known = {symbol.key: value}
    if symbol.parts is None:
        return known
    name, *sides = symbol.parts
    own = [side for side in sides if side.taint > Taint.UNKNOWN]
    for side in sides:
        if side not in own:
            known[side.key] = (name == "and") is not side.negated
        elif len(own) == 1 or value is (name == "and"):
            known.update(implied(side, value))
    return known


def own_parts(atom: Atom) -> frozenset[int]:
    """What a condition asks that is not equal on all ranks, itself included, by the number of the symbols."""
    if not isinstance(atom, Symbol) or atom.taint <= Taint.UNKNOWN:
        return frozenset()
    own: frozenset[int] = frozenset({atom.key})
    return own.union(*map(own_parts, atom.parts[1:])) if atom.parts is not None else own
