"""Laws of values: folding, joining, taints, and the identity of symbols."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ddpdoctor.lint.values import symbols
from ddpdoctor.lint.values.join import Decision, merge
from ddpdoctor.lint.values.operators import OPERATORS
from ddpdoctor.lint.values.tags import REASONS, STICKY, Tag
from ddpdoctor.lint.values.values import (
    EVERY_RANK,
    WORLD,
    Atom,
    Symbol,
    Taint,
    Value,
    binary,
    const,
    join_tags,
    per_rank,
    symbol,
    unknown,
)

_FEW = settings(max_examples=200, deadline=None, derandomize=True, database=None)

constants = st.one_of(
    st.integers(-3, 3), st.booleans(), st.none(), st.sampled_from([0.0, -0.0, 1.0, "", "a", (), (1,), (True,)])
)
taints = st.sampled_from(Taint)
tags = st.sampled_from([0, Tag.BATCH, Tag.TIME, Tag.RANK, Tag.PREPARED, Tag.DDP | Tag.MAYBE])
unknowns = st.builds(lambda n, taint: symbol("unknown", n, taint, taint=taint), st.integers(0, 3), taints)
atoms = st.one_of(constants, unknowns)
by_rank = st.lists(atoms, min_size=WORLD, max_size=WORLD)
values = st.one_of(
    constants.map(const),
    st.builds(lambda atom, tags: Value((atom,), atom.taint, None, tags), unknowns, tags),
    st.builds(per_rank, by_rank, tags),
)
masks = st.integers(1, EVERY_RANK - 1)


def _same(one: Atom, two: Atom) -> bool:
    """Equal and of one type, so that 1 is not True."""
    return one.__class__ is two.__class__ and bool(one == two)


def _ranks(mask: int) -> list[int]:
    return [rank for rank in range(WORLD) if mask & 1 << rank]


@_FEW
@given(by_rank)
def test_folding_gives_back_what_went_in(given_atoms: list[Atom]) -> None:
    value = per_rank(given_atoms)
    assert all(_same(value.at(rank), atom) for rank, atom in enumerate(given_atoms))


@_FEW
@given(atoms)
def test_equal_atoms_are_one(atom: Atom) -> None:
    assert len(per_rank([atom] * WORLD).atoms) == 1


@_FEW
@given(values, values, masks)
def test_behind_a_branch_on_the_rank_each_rank_has_its_sides_value(a: Value, b: Value, mask: int) -> None:
    assume(a != b)
    truths = tuple(bool(mask & 1 << rank) for rank in range(WORLD))
    other = EVERY_RANK & ~mask
    merged = merge(Decision(truths), {"x": a}, {"x": b}, (mask, other), "key")["x"]
    turned = merge(Decision(tuple(not t for t in truths)), {"x": b}, {"x": a}, (other, mask), "key")["x"]
    for rank in range(WORLD):
        assert merged.at(rank) == turned.at(rank) == (a if mask & 1 << rank else b).at(rank)
    assert (merged.taint, merged.tags) == (turned.taint, turned.tags)


@_FEW
@given(values, values, st.integers(1, EVERY_RANK), st.integers(1, EVERY_RANK), unknowns)
def test_the_order_of_sides_does_not_matter(a: Value, b: Value, a_mask: int, b_mask: int, test: Symbol) -> None:
    assume(a != b)
    merged = merge(Decision((test,)), {"x": a}, {"x": b}, (a_mask, b_mask), "key")["x"]
    turned = merge(Decision((test._replace(negated=True),)), {"x": b}, {"x": a}, (b_mask, a_mask), "key")["x"]
    for rank in _ranks(a_mask | b_mask):
        assert merged.at(rank) == turned.at(rank)
    if a_mask | b_mask == EVERY_RANK:
        assert (merged.taint, merged.tags) == (turned.taint, turned.tags)


@_FEW
@given(values, st.integers(0, EVERY_RANK), st.integers(0, EVERY_RANK), unknowns)
def test_a_value_joined_with_itself_is_that_value(value: Value, one: int, two: int, test: Symbol) -> None:
    assert merge(Decision((test,)), {"x": value}, {"x": value}, (one, two), "key") == {"x": value}


@_FEW
@given(values, values, values, masks, unknowns)
def test_what_is_on_ranks_that_do_not_come_does_not_matter(
    a: Value, b: Value, elsewhere: Value, mask: int, test: Symbol
) -> None:
    """The second side is another value on the ranks that are on neither side."""
    left = 1 << _ranks(mask)[0]
    other = mask & ~left
    assume(other)
    known = tuple(bool(left & 1 << rank) for rank in range(WORLD))
    changed = per_rank([(b if other & 1 << rank else elsewhere).at(rank) for rank in range(WORLD)])
    one = merge(Decision(known), {"x": a}, {"x": b}, (left, other), "key")["x"]
    two = merge(Decision(known), {"x": a}, {"x": changed}, (left, other), "key")["x"]
    assert all(one.at(rank) == two.at(rank) for rank in _ranks(mask))


@_FEW
@given(values, values, st.sampled_from(sorted(OPERATORS)))
def test_a_result_can_differ_as_much_as_what_it_is_made_of(a: Value, b: Value, name: str) -> None:
    result = binary(name, a, b)
    for rank in range(WORLD):
        atom = result.at(rank)
        if isinstance(atom, Symbol) and isinstance(a.at(rank), Symbol) | isinstance(b.at(rank), Symbol):
            assert atom.taint >= max(x.taint for x in (a.at(rank), b.at(rank)) if isinstance(x, Symbol))
    assert result.taint >= max((x.taint for x in result.atoms if isinstance(x, Symbol)), default=Taint.UNIFORM)


@_FEW
@given(st.lists(values, max_size=4))
def test_tags_of_data_are_those_of_all_operands(operands: list[Value]) -> None:
    joined = join_tags(operands)
    assert not joined & ~STICKY
    assert all(not value.tags & STICKY & ~joined for value in operands)
    assert REASONS & STICKY == REASONS


structures = st.tuples(st.sampled_from(["Eq", "Is", "Add", "In"]), st.tuples(atoms, atoms))


def _identity(argument: Any) -> object:
    """What tells two operands apart: the type counts, and the sign of zero."""
    if isinstance(argument, tuple) and not isinstance(argument, Symbol):
        return (tuple, *map(_identity, argument))
    return type(argument), repr(argument)


@_FEW
@given(structures, structures)
def test_operations_are_one_unknown_exactly_if_they_are_equal(one: Any, two: Any) -> None:
    held = symbols.hold()
    equal = one[0] == two[0] and list(map(_identity, one[1])) == list(map(_identity, two[1]))
    assert (symbols.operation(*one) == symbols.operation(*two)) is equal
    assert symbols.operation(*one) == symbols.operation(*one)
    del held


@_FEW
@given(st.lists(st.integers(), max_size=3))
def test_what_cannot_be_hashed_is_an_unknown_of_its_own(items: list[int]) -> None:
    assert symbols.number(("display", items)) != symbols.number(("display", items))
    assert unknown("display", items) != unknown("display", items)


@_FEW
@given(st.integers(65, 500), st.integers(65, 500))
def test_results_too_large_to_keep_are_one_only_if_their_operands_are(one: int, two: int) -> None:
    big = const(1 << 60)
    left, right = (binary("Mult", binary("Mult", big, const(8)), const(n)) for n in (one, two))
    assert not left.known
    assert (left == right) is (one == two)
