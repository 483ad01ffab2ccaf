"""Values: constants, one constant a rank, symbols, and what operators make of them."""

from __future__ import annotations

import pytest

from ddpdoctor.lint.values.tags import NO_TAGS, Tag
from ddpdoctor.lint.values.values import (
    LOCAL_RANK_NUMBERS,
    NONE,
    RANK_NUMBERS,
    WORLD,
    WORLD_NUMBER,
    Symbol,
    Taint,
    Value,
    asserted,
    binary,
    const,
    join_tags,
    of_object,
    per_rank,
    symbol_key,
    unknown,
)


def test_a_constant_is_the_same_on_every_rank() -> None:
    value = const(64)
    assert [value.at(rank) for rank in range(WORLD)] == [64] * WORLD
    assert (value.known, value.constant, value.taint) == (True, 64, Taint.UNIFORM)


def test_a_rank_is_another_number_on_each() -> None:
    assert [RANK_NUMBERS.at(rank) for rank in range(WORLD)] == [0, 1, 2, 3]
    assert (RANK_NUMBERS.known, RANK_NUMBERS.taint, RANK_NUMBERS.tags) == (True, Taint.RANK, Tag.RANK)
    assert isinstance(RANK_NUMBERS.constant, Symbol)


def test_an_unknown_is_itself() -> None:
    assert unknown("argument", "lr") == unknown("argument", "lr")
    assert unknown("argument", "lr") != unknown("argument", "epochs")
    assert not unknown("argument", "lr").known


def test_an_object_is_not_a_constant_though_it_is_known() -> None:
    value = of_object("some object", "key")
    assert not value.known
    assert symbol_key(value) == value.atoms[0].key


def test_only_an_unknown_has_the_key_of_one() -> None:
    assert symbol_key(const(1)) is None
    assert symbol_key(RANK_NUMBERS) is None


def test_equal_atoms_are_folded() -> None:
    assert per_rank([3, 3, 3, 3]) == const(3)
    some = unknown("x").atoms[0]
    assert per_rank([some] * WORLD) == unknown("x")


def test_one_and_true_are_not_folded() -> None:
    assert per_rank([1, True, 1, 1]).atoms == (1, True, 1, 1)


def test_what_differs_by_rank_has_the_taint_of_the_rank() -> None:
    assert per_rank([0, 0, 0, 1]).taint is Taint.RANK


def test_elements_are_those_of_a_constant_tuple() -> None:
    assert const((1, 2)).elements == (1, 2)
    assert const("ab").elements is None
    assert unknown("x").elements is None, "a symbol is a tuple, but no constant"


@pytest.mark.parametrize(
    ("name", "right", "atoms"),
    [
        ("Eq", 0, (True, False, False, False)),
        ("Mod", 2, (0, 1, 0, 1)),
        ("Lt", 2, (True, True, False, False)),
        ("GtE", 0, (True,)),
        ("Add", 1, (1, 2, 3, 4)),
        ("In", (0, 3), (True, False, False, True)),
    ],
)
def test_operators_are_applied_rank_by_rank(name: str, right: object, atoms: tuple[object, ...]) -> None:
    assert binary(name, RANK_NUMBERS, const(right)).atoms == atoms


def test_the_last_rank_is_known_by_the_number_of_ranks() -> None:
    last = binary("Eq", RANK_NUMBERS, binary("Sub", WORLD_NUMBER, const(1)))
    assert last.atoms == (False, False, False, True)
    assert last.tags & Tag.RANK
    assert last.tags & Tag.WORLD


def test_an_operation_on_an_unknown_is_an_unknown_of_the_same_taint() -> None:
    for taint in Taint:
        result = binary("Add", unknown("x", taint=taint), const(1))
        assert not result.known
        assert result.taint is taint


def test_an_operation_on_an_unknown_and_the_rank_is_another_unknown_on_each_rank() -> None:
    result = binary("Add", unknown("offset"), RANK_NUMBERS)
    assert len({atom.key for atom in result.atoms}) == WORLD
    assert result.taint is Taint.RANK


def test_what_fails_or_grows_too_large_is_unknown() -> None:
    assert not binary("Div", const(1), const(0)).known
    assert not binary("Add", const("a"), const(1)).known
    assert not binary("Mult", const(1 << 40), const(1 << 40)).known


def test_a_text_is_never_multiplied() -> None:
    assert not binary("Mult", const("ab"), const(1 << 62)).known
    assert not binary("Mod", const("%1000000000d"), const(1)).known


def test_only_sticky_tags_outlive_arithmetic() -> None:
    batch = unknown("batch", taint=Taint.RANK_LOCAL, tags=Tag.BATCH | Tag.PREPARED)
    assert join_tags([batch, LOCAL_RANK_NUMBERS]) == Tag.BATCH | Tag.LOCAL_RANK
    assert join_tags([NONE]) == NO_TAGS


def test_what_a_comment_says_is_equal_is_one_unknown() -> None:
    said = asserted(RANK_NUMBERS, Taint.UNIFORM)
    assert len(said.atoms) == 1
    assert (said.taint, said.tags & Tag.RANK) == (Taint.UNIFORM, 0)
    assert said == asserted(RANK_NUMBERS, Taint.UNIFORM)
    assert asserted(const(3), Taint.UNIFORM) == const(3)


def test_what_a_comment_says_differs_is_an_unknown_of_each_rank() -> None:
    assert asserted(const(3), Taint.RANK_LOCAL).taint is Taint.RANK_LOCAL
    assert not asserted(const(3), Taint.RANK_LOCAL).known


def test_an_object_survives_its_tags() -> None:
    value = of_object("some object", "key").tagged(Tag.MAYBE)
    assert value.object == "some object"
    assert value.with_tags(NO_TAGS) == of_object("some object", "key")
    assert value.with_object(None) == Value(value.atoms, value.taint, None, Tag.MAYBE)
