"""What a `for` goes through, and how often."""

from __future__ import annotations

from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.values.abstract_objects import Items, Made
from ddpdoctor.lint.values.iteration import count_of, iterated_of, zipped_with
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import (
    NONE,
    RANK_NUMBERS,
    WORLD_NUMBER,
    Symbol,
    Taint,
    Value,
    const,
    of_object,
    unknown,
)
from ddpdoctor.program.sites import SourceSite

SITE = SourceSite("/job/main.py", 1, 1, 1, 2)


def made(path: str, *args: Value) -> Value:
    return of_object(Made(path, SITE, args), path, args)


LOADER = made(aliases.LOADER)


def test_a_loader_gives_batches_of_this_rank() -> None:
    over, element = iterated_of(LOADER)
    assert over == LOADER
    assert element is not None
    assert (element.taint, element.tags) == (Taint.RANK_LOCAL, Tag.BATCH)


def test_wrappers_of_an_iterable_are_taken_off() -> None:
    over, element = iterated_of(made("tqdm.tqdm", made("builtins.enumerate", LOADER)))
    assert over == LOADER
    assert element is not None
    assert isinstance(element.object, Items)
    assert [v.taint for v in element.object.items] == [Taint.GIVEN, Taint.RANK_LOCAL]


def test_an_iterable_that_is_cut_short_says_so() -> None:
    assert iterated_of(made("itertools.islice", LOADER, const(10)))[0].tags & Tag.CUT
    assert iterated_of(made("builtins.zip", LOADER, made("builtins.range", const(10))))[0].tags & Tag.CUT


def test_a_slice_by_rank_is_a_share() -> None:
    lines = unknown("lines")
    assert iterated_of(made("itertools.islice", lines, RANK_NUMBERS, NONE, WORLD_NUMBER))[0].tags & Tag.SHARD


def test_what_is_zipped_is_gone_through_as_well() -> None:
    other = unknown("others")
    assert zipped_with(made("builtins.enumerate", made("builtins.zip", LOADER, other))) == (other,)
    assert zipped_with(LOADER) == ()


def test_nothing_is_known_of_the_elements_of_an_unknown() -> None:
    assert iterated_of(unknown("rows")) == (unknown("rows"), None)


def test_a_range_by_rank_runs_as_often_as_it_is_long() -> None:
    assert count_of(made("builtins.range", RANK_NUMBERS)) == (0, 1, 2, 3)
    assert count_of(made("builtins.range", RANK_NUMBERS, const(8), WORLD_NUMBER)) == (2, 2, 2, 2)


def test_how_often_anything_else_runs_is_one_unknown_for_one_iterable() -> None:
    (count,) = count_of(LOADER)
    assert isinstance(count, Symbol)
    assert count_of(LOADER) == (count,)
    assert count_of(unknown("rows")) != (count,)
