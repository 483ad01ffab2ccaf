"""Tuples, lists and dicts as values."""

from __future__ import annotations

import pytest

from ddpdoctor.lint.values import containers
from ddpdoctor.lint.values.abstract_objects import Items, Listed, Made, Table
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Taint, Value, const, of_object, unknown
from ddpdoctor.program.sites import SourceSite

SITE = SourceSite("/job/main.py", 1, 1, 1, 2)
LOADER = of_object(Made("torch.utils.data.DataLoader", SITE))
LOSS = unknown("loss", taint=Taint.RANK_LOCAL, tags=Tag.BATCH)


def _table(**entries: Value) -> Value:
    return of_object(Table(tuple(entries.items())), "table")


def test_parts_of_a_display_and_of_a_constant() -> None:
    assert containers.parts_of(of_object(Items((LOSS, const(1))), "pair")) == (LOSS, const(1))
    assert containers.parts_of(const((1, 2))) == (const(1), const(2))
    assert containers.parts_of(unknown("pair")) is None


def test_what_is_put_under_a_name_is_found_there() -> None:
    changed = containers.put(_table(train=const(1)), const("train"), LOADER)
    assert changed is not None
    assert changed.object == Table((("train", LOADER),))


def test_what_is_put_under_an_unknown_name_may_be_any_entry() -> None:
    changed = containers.put(_table(train=const(1)), unknown("name"), LOADER)
    assert changed is not None
    assert changed.object == Table((), complete=False)
    assert changed.object.rest == LOADER


@pytest.mark.parametrize(("index", "expected"), [(0, (LOSS, const(2))), (-1, (const(1), LOSS))])
def test_what_is_put_at_an_index_is_found_there(index: int, expected: tuple[Value, ...]) -> None:
    changed = containers.put(of_object(Items((const(1), const(2))), "list"), const(index), LOSS)
    assert changed is not None
    assert changed.object == Items(expected)


def test_what_is_put_somewhere_makes_a_list_unknown() -> None:
    changed = containers.put(of_object(Items((const(1),)), "list"), unknown("index"), LOSS)
    assert changed is not None
    assert changed.object is None
    assert containers.put(unknown("anything"), const(0), LOSS) is None


def test_a_dict_changes_as_its_methods_say() -> None:
    table = _table(a=const(1), b=const(2))

    def after(method: str, *args: Value) -> Table:
        found = containers.changed_table(table, table.object, method, args, ()).object
        assert isinstance(found, Table)
        return found

    assert dict(after("update", _table(b=const(3), c=const(4))).entries) == {
        "a": const(1), "b": const(3), "c": const(4),
    }  # fmt: skip
    assert dict(after("pop", const("a")).entries) == {"b": const(2)}
    assert dict(after("setdefault", const("a"), const(9)).entries)["a"] == const(1)
    assert dict(after("setdefault", const("c"), const(9)).entries)["c"] == const(9)
    assert after("update", unknown("other")) == Table((), complete=False)
    assert after("clear") == Table((), complete=False)


def test_an_element_is_one_or_the_other() -> None:
    assert containers.either(LOSS, LOSS) == LOSS
    assert containers.either(LOADER, LOADER.tagged(Tag.CUT)).object == LOADER.object
    assert not containers.either(const(1), const(2)).known


def test_a_list_of_the_ranks_own_data_is_its_own_data() -> None:
    losses = of_object(Listed(SITE, LOSS), "losses")
    assert (containers.gathered(losses).taint, containers.gathered(losses).tags) == (Taint.RANK_LOCAL, Tag.BATCH)
    plain = of_object(Listed(SITE, const(1)), "ones")
    assert containers.gathered(plain) == plain


def test_an_element_of_a_list_is_of_its_kind_under_its_own_name() -> None:
    loaders = of_object(Listed(SITE, LOADER), "loaders")
    first, second = (containers.element_of(loaders, key) for key in ("first", "second"))
    assert first is not None
    assert second is not None
    assert first.object == second.object == LOADER.object
    assert first != second
    assert containers.element_of(unknown("anything")) is None


def test_going_through_a_dict_gives_its_values() -> None:
    table = _table(train=LOADER, val=LOADER)
    over, element = containers.gone_through(table, table.object, "values")
    assert over.object == Items((LOADER, LOADER))
    assert element is not None
    assert element.object == LOADER.object
    assert containers.gone_through(table, table.object, "keys") == (table, None)


def test_a_dict_that_is_filled_on_one_side_perhaps_has_the_entry() -> None:
    joined = containers.joined(_table(train=LOADER), _table())
    assert joined is not None
    assert joined.object == Table((("train", LOADER.tagged(Tag.MAYBE)),))


def test_a_list_that_is_filled_on_one_side_is_the_filled_one() -> None:
    filled = of_object(Listed(SITE, LOSS), "losses")
    assert containers.joined(of_object(Items(()), "empty"), filled) == filled
    assert containers.joined(LOADER, filled) is None


def test_only_displays_of_one_length_are_joined_by_element() -> None:
    one, two = of_object(Items((const(1),)), "one"), of_object(Items((const(2),)), "two")
    assert containers.pairs(one, two) == [(const(1), const(2))]
    assert containers.pairs(one, of_object(Items(()), "none")) is None
    assert containers.pairs(one, LOADER) is None


def test_an_uneven_container_is_data_of_the_rank() -> None:
    uneven = containers.uneven(of_object(Listed(SITE), "rows"), Tag.SHARD)
    assert uneven.taint is Taint.RANK_LOCAL
    assert uneven.tags == Tag.SHARD | Tag.UNEVEN
