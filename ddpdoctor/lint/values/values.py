"""The abstract value: what an expression is on each rank of a small simulated job.

Lint simulates a program for WORLD ranks at once without running it. A value is the same constant everywhere, one
constant per rank (`get_rank()` is 0, 1, 2, 3), or a symbol: something unknown that equals itself wherever it is read
again, so that two tests of `args.distributed` take the same branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

from ddpdoctor.lint.values.operators import OPERATORS
from ddpdoctor.lint.values.symbols import NO_SYMBOL, number, operation
from ddpdoctor.lint.values.tags import BY_RANK, NO_TAGS, SET_ORDER, STICKY, Tag, Tags
from ddpdoctor.model.named_tuple import NamedTuple

#: ranks in the simulated job: enough to distinguish `rank == 0`, `rank % 2`, `rank < 2` and `rank == world_size - 1`
WORLD = 4
EVERY_RANK = (1 << WORLD) - 1
#: the mask of rank 0 alone
RANK_ZERO = 1


class Taint(IntEnum):
    """How much a value can differ between ranks; only the last three may lead to a finding."""

    #: equal on all ranks: constants, results of collectives
    UNIFORM = 0
    #: command-line options, iteration counts: unknown, but given to every rank alike
    GIVEN = 1
    #: configuration, arguments, attributes: never leads to a finding
    UNKNOWN = 2
    #: what this rank finds on its disks: the same elsewhere, unless someone is writing it
    FILES = 3
    #: data of this rank: batches, losses, clocks, random draws
    RANK_LOCAL = 4
    #: a function of the rank
    RANK = 5


class Symbol(NamedTuple):
    """An unknown; equal numbers are equal values. `negated` makes `not x` comparable with `x`."""

    key: int
    taint: Taint
    negated: bool = False
    #: ("and" or "or", its two sides) if it combines two unknowns
    parts: tuple[str, Symbol, Symbol] | None = None


#: a plain constant, or a Symbol
Atom = Any


class Value(NamedTuple):
    """One atom for all ranks, or one for each; with its abstract object, if known."""

    atoms: tuple[Atom, ...]
    taint: Taint
    #: its abstract object (see `abstract_objects`); None if not known
    object: Any = None
    #: facts that travel with data (see `tags`)
    tags: Tags = NO_TAGS

    def at(self, rank: int) -> Atom:
        return self.atoms[rank] if len(self.atoms) > 1 else self.atoms[0]

    @property
    def known(self) -> bool:
        """Whether every rank's value is a constant."""
        if self.object is not None:
            return False
        for atom in self.atoms:  # noqa: SIM110 - asked hundreds of thousands of times
            if atom.__class__ is Symbol:
                return False
        return True

    @property
    def constant(self) -> Atom:
        """The constant that all ranks share; a Symbol if there is none."""
        return self.atoms[0] if len(self.atoms) == 1 else _NO_CONSTANT[self.taint]

    @property
    def elements(self) -> tuple[Atom, ...] | None:
        """The elements of a constant tuple that all ranks share; else None. (A Symbol is a tuple, too.)"""
        constant = self.constant
        return constant if isinstance(constant, tuple) and not isinstance(constant, Symbol) else None

    def tagged(self, tags: Tags) -> Value:
        return _value(Value, (self.atoms, self.taint, self.object, self.tags | tags))

    def with_tags(self, tags: Tags) -> Value:
        return _value(Value, (self.atoms, self.taint, self.object, tags))

    def with_object(self, obj: Any) -> Value:
        return _value(Value, (self.atoms, self.taint, obj, self.tags))


# what a NamedTuple's own constructor, a function in Python, calls: values are made by the million
_value: Callable[[type[Value], tuple[tuple[Atom, ...], Taint, Any, Tags]], Value] = tuple.__new__
_symbol_of: Callable[[type[Symbol], tuple[int, Taint, bool, None]], Symbol] = tuple.__new__

#: the symbol that a value of each taint gives in place of a constant
_NO_CONSTANT = tuple(Symbol(NO_SYMBOL, taint) for taint in Taint)

#: arguments given by name
Keywords = tuple[tuple[str, Value], ...]


def symbol_key(value: Value) -> int | None:
    """The identity of an unknown object, for its attributes."""
    atom = value.atoms[0]
    return atom.key if atom.__class__ is Symbol and len(value.atoms) == 1 else None


#: looking up a member of an enumeration costs more than a whole comparison
_UNIFORM, _UNKNOWN, _RANK_LOCAL = Taint.UNIFORM, Taint.UNKNOWN, Taint.RANK_LOCAL


def symbol(*structure: object, taint: Taint = _UNKNOWN) -> Symbol:
    """The unknown with this structure (see `symbols`)."""
    return _symbol_of(Symbol, (number(structure), taint, False, None))


def const(value: Atom) -> Value:
    return _value(Value, ((value,), _UNIFORM, None, NO_TAGS))


def per_rank(atoms: Sequence[Atom], tags: Tags = NO_TAGS) -> Value:
    """A value with one atom per rank, folded if all are equal."""
    first = atoms[0]
    for atom in atoms:
        if atom is not first and (atom.__class__ is not first.__class__ or atom != first):
            break
    else:
        return Value((first,), first.taint if isinstance(first, Symbol) else _UNIFORM, None, tags)
    worst = max((a.taint for a in atoms if isinstance(a, Symbol)), default=Taint.UNIFORM)
    return Value(tuple(atoms), max(worst, Taint.RANK), None, tags)


def unknown(*key: object, taint: Taint = _UNKNOWN, tags: Tags = NO_TAGS) -> Value:
    return _value(Value, ((_symbol_of(Symbol, (number(key), taint, False, None)),), taint, None, tags))


def of_object(obj: Any, *key: object) -> Value:
    """A value known to be an object; its atom is an opaque, true symbol."""
    atom = _symbol_of(Symbol, (number(key or (obj,)), _UNKNOWN, False, None))
    return _value(Value, ((atom,), _UNKNOWN, obj, NO_TAGS))


RANK_NUMBERS = per_rank(tuple(range(WORLD)), Tag.RANK)
LOCAL_RANK_NUMBERS = per_rank(tuple(range(WORLD)), Tag.LOCAL_RANK)
#: true on rank 0 alone, and on the first rank of each node alone
FIRST_RANK = per_rank(tuple(rank == 0 for rank in range(WORLD)), Tag.RANK)
FIRST_LOCAL_RANK = FIRST_RANK.with_tags(Tag.LOCAL_RANK)
WORLD_NUMBER = Value((WORLD,), Taint.UNIFORM, None, Tag.WORLD)
TRUE = const(True)
FALSE = const(False)
NONE = const(None)


def join_tags(values: Sequence[Value]) -> Tags:
    """The tags of a value computed from all of these values."""
    tags = NO_TAGS
    for value in values:
        tags |= value.tags
    if tags & Tag.OF_SHARE and any(map(is_of_all, values)):
        tags &= ~Tag.OF_SHARE
    return tags & STICKY


def is_of_all(value: Value) -> bool:
    """Whether it is the number of ranks, or computed from it, and does not count what one rank has."""
    return value.tags & (Tag.OF_SHARE | Tag.WORLD) == Tag.WORLD


def lift(name: str, fn: Callable[..., Any], values: Sequence[Value]) -> Value:
    """Apply a pure function rank by rank; unknown arguments give a symbol named after the operation and them."""
    width = 1
    for value in values:
        width = max(width, len(value.atoms)) if len(value.atoms) > 1 else width
    if width == 1:
        return _lift_one(name, fn, values)
    atoms: list[Atom] = []
    for rank in range(width):
        arguments = [v.at(rank) for v in values]
        for argument, value in zip(arguments, values, strict=True):
            if argument.__class__ is Symbol or (value.object is not None and len(value.atoms) == 1):
                atoms.append(_symbol(name, values, arguments))
                break
        else:
            atoms.append(_apply(name, fn, arguments))
    return per_rank(atoms, join_tags(values))


def _lift_one(name: str, fn: Callable[..., Any], values: Sequence[Value]) -> Value:
    """The same for values that all have one atom, as nearly all have."""
    arguments = [v.atoms[0] for v in values]
    for value in values:
        if value.object is not None or value.atoms[0].__class__ is Symbol:
            made = _symbol(name, values, arguments)
            return _value(Value, ((made,), made.taint, None, join_tags(values)))
    atom = _apply(name, fn, arguments)
    taint = atom.taint if atom.__class__ is Symbol else _UNIFORM
    return _value(Value, ((atom,), taint, None, join_tags(values)))


def _symbol(name: str, values: Sequence[Value], arguments: Sequence[Atom]) -> Symbol:
    key, negated = operation(name, arguments)
    return Symbol(key, _greatest(values), negated)


def _greatest(values: Sequence[Value]) -> Taint:
    """The taint of one unknown made of several: data of this rank stays that, whatever the rank has to do with it."""
    greatest = _UNIFORM
    for value in values:
        taint = value.taint
        if taint is _RANK_LOCAL:
            return taint
        if taint > greatest:
            greatest = taint
    return greatest


def _apply(name: str, fn: Callable[..., Any], arguments: Sequence[Atom]) -> Atom:
    try:
        result = fn(*arguments)
    except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError, MemoryError):
        return Symbol(operation(name, ("fails", *arguments))[0], _UNKNOWN)
    return result if _small(result) else Symbol(operation(name, ("large", *arguments))[0], _UNKNOWN)


def _small(value: Any) -> bool:
    if isinstance(value, int):
        return -(1 << 64) < value < 1 << 64
    if isinstance(value, (str, tuple, range, bytes)):
        return len(value) < 10_000
    return value is None or isinstance(value, float)


def binary(name: str, left: Value, right: Value) -> Value:
    fn = OPERATORS.get(name)
    if name in ("Mult", "LShift", "Pow") and not _both_numbers(left, right):
        fn = None
    of_all = _of_all(name, left, right)
    if fn is None:
        taint = _greatest((left, right))
        result = symbol(name, left.atoms, right.atoms, taint=taint)
        return Value((result,), taint, None, join_tags((left, right)) | of_all)
    made = lift(name, fn, (left, right))
    if left.tags & Tag.LENGTH and name in ("Div", "FloorDiv") and is_of_all(right):
        made = made.tagged(Tag.OF_SHARE)
    if of_all:
        return made.tagged(of_all)
    # a number of the node in a text is still one: `"cuda:" + str(index)`; in a sum it need not be
    spawned = (left.tags | right.tags) & Tag.SPAWNED
    return made.tagged(spawned) if spawned and all(isinstance(a, str) for a in made.atoms) else made


def _of_all(name: str, left: Value, right: Value) -> Tags:
    """Whether the result has a row for each of what all ranks have, or a column: what is scaled, and a product by what
    it is multiplied with. Or whether it is a set, or in the order of one: `names | {"loss"}`, `names - unknown`,
    `["total"] + list(names)`."""
    if name in ("BitOr", "BitAnd", "Sub", "Add"):
        return (left.tags if name == "Sub" else left.tags | right.tags) & SET_ORDER
    if name in ("Mult", "Div"):
        return (left.tags | right.tags) & Tag.GATHERED
    if name != "MatMult":
        return NO_TAGS
    if left.tags & Tag.GATHERED:
        return Tag.GATHERED
    return Tag.AGAINST_ALL if right.tags & Tag.GATHERED else NO_TAGS


def _both_numbers(left: Value, right: Value) -> bool:
    return all(isinstance(a, (int, float)) for a in (*left.atoms, *right.atoms))


def asserted(value: Value, taint: Taint) -> Value:
    """The value as an annotation comment declares it, equal on all ranks or not; equal values stay equal."""
    said = symbol("asserted", value.atoms, taint=taint)
    if taint is Taint.UNIFORM:
        same = len(value.atoms) == 1 and not isinstance(value.atoms[0], Symbol)
        atoms = value.atoms if same else (said,)
        return Value(atoms, taint, value.object, value.tags & ~BY_RANK)
    return Value((said,), taint, value.object, value.tags | Tag.DECLARED)
