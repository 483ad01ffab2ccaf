"""Rank sets in range notation, and the labels of groups."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.model.ranks import Group, Rank, RankSet

SETS = st.frozensets(st.integers(0, 2000)).map(RankSet.of)


@given(SETS)
def test_what_is_written_reads_back(ranks: RankSet) -> None:
    assert RankSet.parse(str(ranks)) == ranks


@given(SETS, SETS)
def test_union_and_difference_are_those_of_sets(left: RankSet, right: RankSet) -> None:
    assert set(left | right) == set(left) | set(right)
    assert set(left - right) == set(left) - set(right)
    assert len(left | right) + len(set(left) & set(right)) == len(left) + len(right)


@given(st.lists(st.integers(0, 50)))
def test_order_and_repetition_do_not_matter(ranks: list[int]) -> None:
    assert RankSet.of(ranks) == RankSet.of(sorted(ranks, reverse=True) + ranks)
    assert all(rank in RankSet.of(ranks) for rank in ranks)


@pytest.mark.parametrize(
    ("ranks", "text"),
    [((), ""), ((3,), "3"), ((0, 1, 2), "0-2"), ((0, 1, 2, 4, 5, 7), "0-2,4-5,7"), (range(1024), "0-1023")],
)
def test_runs_are_folded(ranks: tuple[int, ...], text: str) -> None:
    assert str(RankSet.of(ranks)) == text


@pytest.mark.parametrize("text", ["a", "1-", "-1", "1,,x", "1.5"])
def test_what_is_no_set_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        RankSet.parse(text)


def test_a_group_is_named_as_people_know_it() -> None:
    four = tuple(Rank(r) for r in range(4))
    assert Group("0", four, "default_pg").label(4) == "the default group"
    assert Group("3", four[:2], "dp").label(4) == "group 'dp' of ranks 0-1"
    assert Group("3", four[:2], "undefined").label(4) == "group '3' of ranks 0-1"


def test_a_set_knows_its_members_without_looking_at_each() -> None:
    ranks = RankSet.of(range(0, 20_000, 2))
    assert all(rank in ranks for rank in (0, 2, 19_998))
    assert not any(rank in ranks for rank in (-1, 1, 19_999, 20_000, "2", None))
