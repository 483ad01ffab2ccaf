"""Joining values where control flow meets."""

from __future__ import annotations

import pytest

from ddpdoctor.lint.values.abstract_objects import Items, Made
from ddpdoctor.lint.values.join import Decision, choose, filled_up, left_alone, merge, merge_stores
from ddpdoctor.lint.values.symbols import operation
from ddpdoctor.lint.values.tags import NO_TAGS, Tag
from ddpdoctor.lint.values.values import (
    EVERY_RANK,
    NONE,
    RANK_NUMBERS,
    RANK_ZERO,
    WORLD_NUMBER,
    Symbol,
    Taint,
    Value,
    const,
    of_object,
    per_rank,
    unknown,
)
from ddpdoctor.program.sites import SourceSite

SITE = SourceSite("/job/main.py", 1, 1, 1, 2)
OTHERS = EVERY_RANK & ~RANK_ZERO
FIRST = (True, False, False, False)
SOME = unknown("option").atoms
GIVEN = unknown("epochs", taint=Taint.GIVEN).atoms
LOCAL = unknown("loss", taint=Taint.RANK_LOCAL).atoms
FILES = unknown("there?", taint=Taint.FILES).atoms
MODEL = of_object(Made("torch.nn.Linear", SITE))


def _either(truths: tuple[object, ...], a: Value, b: Value, reasons: int = NO_TAGS) -> Value:
    """Both sides with all ranks, as behind a condition that is not known."""
    return choose(Decision(truths, reasons), a, b, (EVERY_RANK, EVERY_RANK), "key")


def test_behind_a_branch_on_the_rank_each_rank_has_what_its_side_made() -> None:
    merged = merge(Decision(FIRST), {"x": const("a")}, {"x": const("b")}, (RANK_ZERO, OTHERS), "key")
    assert merged["x"].atoms == ("a", "b", "b", "b")
    assert merged["x"].taint is Taint.RANK


def test_behind_an_unknown_condition_it_is_a_new_unknown_the_same_on_all_ranks() -> None:
    joined = _either(SOME, const(1), const(2))
    assert len(joined.atoms) == 1
    assert not joined.known
    assert joined.taint is Taint.UNKNOWN
    assert joined == _either(SOME, const(1), const(2))


@pytest.mark.parametrize(
    ("truths", "taint"), [(SOME, Taint.UNKNOWN), (GIVEN, Taint.GIVEN), (FILES, Taint.FILES), (LOCAL, Taint.RANK_LOCAL)]
)
def test_what_a_condition_chooses_differs_as_the_condition_does(truths: tuple[Symbol, ...], taint: Taint) -> None:
    assert _either(truths, const(1), const(2)).taint is taint


def test_what_data_of_the_rank_chooses_says_why_it_differs() -> None:
    chosen = _either(LOCAL, const(1), NONE, Tag.BATCH | Tag.DDP)
    assert chosen.tags == Tag.BATCH | Tag.LOCAL_CHOICE


def test_data_of_the_rank_or_none_is_optional() -> None:
    assert _either(SOME, Value(LOCAL, Taint.RANK_LOCAL), NONE).tags & Tag.OPTIONAL


def test_a_side_that_no_rank_comes_from_counts_for_nothing() -> None:
    then, other = {"x": const(1)}, {"x": const(2)}
    assert merge(Decision(FIRST), then, other, (0, OTHERS), "key") == other
    assert merge(Decision(FIRST), then, other, (RANK_ZERO, 0), "key") == then


def test_a_name_that_one_side_alone_binds_may_be_there() -> None:
    merged = merge(Decision(SOME), {"x": const(1)}, {}, (EVERY_RANK, EVERY_RANK), "key")
    assert merged["x"] == const(1).tagged(Tag.MAYBE)


def test_what_stands_in_for_the_rank_without_a_process_group_is_left_out() -> None:
    assert _either(SOME, RANK_NUMBERS, const(0)) == RANK_NUMBERS
    assert _either(SOME, const(1), WORLD_NUMBER) == WORLD_NUMBER
    assert _either(SOME, RANK_NUMBERS, const(7)) != RANK_NUMBERS


def test_an_argument_that_is_not_given_is_what_stands_in_its_place() -> None:
    argument = unknown("rank")
    key, _ = operation("Is", (argument.atoms[0], None))
    assert _either((Symbol(key, Taint.UNKNOWN),), RANK_NUMBERS, argument) == RANK_NUMBERS
    assert _either(SOME, RANK_NUMBERS, argument) != RANK_NUMBERS


def test_what_ranks_have_agreed_on_is_taken_to_be_so_on_the_other_side() -> None:
    agreed = unknown("reduced", taint=Taint.UNIFORM)
    own = Value(LOCAL, Taint.RANK_LOCAL)
    assert _either(SOME, agreed, own).taint is Taint.UNKNOWN
    assert _either(LOCAL, agreed, own).taint is Taint.RANK_LOCAL


def test_an_object_on_some_ranks_and_none_on_the_others() -> None:
    chosen = choose(Decision(FIRST), MODEL, NONE, (RANK_ZERO, OTHERS), "key")
    assert chosen.object == MODEL.object
    assert chosen.atoms == (MODEL.atoms[0], None, None, None)
    assert chosen.tags & Tag.MAYBE


def test_an_object_or_none_is_perhaps_the_object() -> None:
    assert _either(SOME, MODEL, NONE) == MODEL.tagged(Tag.MAYBE)


def test_two_objects_are_no_object_that_is_known() -> None:
    other = of_object(Made("torch.nn.Conv2d", SITE))
    assert _either(SOME, MODEL, other).object is None
    assert _either(SOME, MODEL, MODEL.tagged(Tag.DDP)) == MODEL.tagged(Tag.DDP)


def test_a_model_that_is_wrapped_on_one_side_is_perhaps_wrapped() -> None:
    wrapped = of_object(Made("torch.nn.parallel.DistributedDataParallel", SITE)).tagged(Tag.WRAPPED)
    assert _either(SOME, wrapped, MODEL).tags == Tag.WRAPPED | Tag.MAYBE


def test_tuples_of_one_length_are_joined_by_element() -> None:
    one = of_object(Items((const(1), MODEL)), "one")
    two = of_object(Items((const(2), MODEL)), "two")
    joined = _either(SOME, one, two).object
    assert isinstance(joined, Items)
    assert joined.items[1] == MODEL
    assert not joined.items[0].known


def test_an_attribute_that_one_side_stores_is_what_it_was_on_the_other() -> None:
    stored = merge_stores(Decision(FIRST), {(7, "x"): const(0)}, {}, (RANK_ZERO, OTHERS))[7, "x"]
    assert stored.atoms == (0, *(left_alone(7, "x"),) * 3)
    assert filled_up(stored, 7, "x", const("before")).atoms == (0, "before", "before", "before")
    assert filled_up(stored, 7, "x", None) == stored


@pytest.mark.parametrize("value", [MODEL, RANK_NUMBERS, Value(LOCAL, Taint.RANK_LOCAL)])
def test_an_object_or_what_differs_by_rank_is_kept_though_one_side_alone_stores_it(value: Value) -> None:
    assert merge_stores(Decision(SOME), {(7, "x"): value}, {}, (EVERY_RANK, EVERY_RANK)) == {(7, "x"): value}


def test_attributes_that_both_sides_store_are_joined_as_variables_are() -> None:
    merged = merge_stores(Decision(FIRST), {(7, "x"): const(1)}, {(7, "x"): const(2)}, (RANK_ZERO, OTHERS))
    assert merged[7, "x"] == per_rank([1, 2, 2, 2])
