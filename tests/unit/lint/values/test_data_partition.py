"""Data shared out by rank."""

from __future__ import annotations

from ddpdoctor.lint.values import data_partition
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.values import (
    NONE,
    RANK_NUMBERS,
    WORLD_NUMBER,
    Value,
    binary,
    const,
    of_object,
    per_rank,
    unknown,
)
from ddpdoctor.program.sites import SourceSite

SITE = SourceSite("/job/main.py", 1, 1, 1, 2)
ROWS = unknown("rows")
INDEX = unknown("index")


def made(path: str, *args: Value) -> Value:
    return of_object(Made(path, SITE, args), path, args)


def test_a_condition_on_index_and_rank_lets_a_share_through() -> None:
    turn = binary("Eq", binary("Mod", INDEX, WORLD_NUMBER), RANK_NUMBERS)
    assert data_partition.by_rank(turn)
    assert not data_partition.by_rank(binary("Eq", RANK_NUMBERS, const(0)))
    assert not data_partition.by_rank(binary("Eq", binary("Mod", INDEX, const(4)), RANK_NUMBERS))


def test_a_part_of_what_is_cut_by_the_number_of_ranks() -> None:
    parts = made("numpy.array_split", ROWS, WORLD_NUMBER)
    assert data_partition.part_of(parts, RANK_NUMBERS)
    assert not data_partition.part_of(parts, const(0))
    assert not data_partition.part_of(made("numpy.array_split", ROWS, const(8)), RANK_NUMBERS)
    assert not data_partition.part_of(made("numpy.concatenate", ROWS, WORLD_NUMBER), RANK_NUMBERS)


def test_every_nth_row_from_the_rank_on() -> None:
    assert data_partition.strided(ROWS, (RANK_NUMBERS, NONE, WORLD_NUMBER))
    assert not data_partition.strided(ROWS, (RANK_NUMBERS, const(100), WORLD_NUMBER))
    assert not data_partition.strided(ROWS, (const(0), NONE, WORLD_NUMBER))
    assert not data_partition.strided(made("itertools.count"), (RANK_NUMBERS, NONE, WORLD_NUMBER))


def test_the_last_rank_has_the_remainder() -> None:
    length = unknown("length")
    end = binary("Mult", binary("Add", RANK_NUMBERS, const(1)), unknown("part"))
    last = per_rank([*(end.at(rank) for rank in range(3)), length.atoms[0]])
    assert data_partition.rest_for_one(length, last)
    assert not data_partition.rest_for_one(length, end)
    assert not data_partition.rest_for_one(length, length)
