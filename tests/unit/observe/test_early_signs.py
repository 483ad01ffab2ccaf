"""Loops over a loader that will not end together are told once; ranks that are only apart in time are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.model.early_sign import EarlySign
from ddpdoctor.model.progress import LoaderCount
from ddpdoctor.model.stacks import Site
from ddpdoctor.observe.early_signs import SINCE, EarlySigns, Reading, Standing
from ddpdoctor.observe.shifts import End

LOOP = Site("train.py", 30, "main")
USUAL = LoaderCount(LOOP, delivered=20, stops=0, made=1, length=194)


def told_of(*every: dict[int, tuple[LoaderCount, int]], goes_round: bool = True) -> list[EarlySign]:
    """What is told of these readings: rank -> its count and its collectives."""
    signs, found = EarlySigns(), list[EarlySign]()
    for i, ranks in enumerate(every):
        standing = {rank: Standing((count,), collectives) for rank, (count, collectives) in ranks.items()}
        found += signs.take(Reading(LOOP, standing, 0.0, float(i), goes_round))
    return found


def ranks_with(odd: LoaderCount, *, at: int = 20, ranks: int = 3, ahead: int = 0) -> dict[int, tuple[LoaderCount, int]]:
    """Rank 1 stands so, `ahead` of the others, which have made `at` collectives, each in a batch of its own."""
    usual = replace(USUAL, delivered=at)
    return {rank: (odd, at + ahead) if rank == 1 else (usual, at) for rank in range(ranks)}


@pytest.mark.parametrize(("ranks", "culprits"), [(2, ()), (3, (1,)), (8, (1,))])
def test_lengths_that_differ_are_told_once(ranks: int, culprits: tuple[int, ...]) -> None:
    shorter = replace(USUAL, length=189)
    (sign,) = told_of(ranks_with(shorter, ranks=ranks), ranks_with(shorter, ranks=ranks, at=40))
    assert tuple(sign.culprits) == culprits
    assert sign.site == LOOP
    assert sign.said.startswith("the loader at train.py:30 has 189 batches on rank 1, 194 batches on rank")


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(USUAL, length=None), id="a length that is not known"),
        pytest.param(replace(USUAL, length=189, made=2, stops=1), id="the next epoch of a loader that was filtered"),
        pytest.param(replace(USUAL, length=189, delivered=1), id="the first batch"),
        pytest.param(replace(USUAL, length=189, made=0), id="a loader that the rank has not begun"),
    ],
)
def test_lengths_that_say_nothing(other: LoaderCount) -> None:
    assert told_of(ranks_with(other), ranks_with(other, at=60)) == []


def test_a_rank_that_began_anew_while_the_others_went_on_is_told() -> None:
    anew = replace(USUAL, made=2)
    told = told_of(ranks_with(anew, ahead=1), ranks_with(anew, at=20 + 1 + SINCE), ranks_with(anew, at=60))
    assert [tuple(sign.culprits) for sign in told] == [(1,)]
    assert (told[0].since, told[0].told) == (0.0, 1.0)
    assert told[0].said.startswith("rank 1 left the loop over the loader at train.py:30 before its end")


def test_whoever_goes_on_is_to_blame_if_all_others_began_anew() -> None:
    anew = replace(USUAL, made=2)
    ranks = {rank: (USUAL if rank == 1 else anew, 20) for rank in range(3)}
    later = {rank: (replace(count, delivered=40), 40) for rank, (count, _) in ranks.items()}
    assert [tuple(sign.culprits) for sign in told_of(ranks, later)] == [(1,)]


def test_a_rank_that_is_only_ahead_in_time_is_not_told() -> None:
    """All ranks break off in the same step; one of them was seen first."""
    anew = replace(USUAL, made=2)
    both = dict.fromkeys(range(3), (anew, 23))
    again = {rank: (replace(anew, made=3) if rank == 1 else anew, 40) for rank in range(3)}
    assert told_of(ranks_with(anew, ahead=1), ranks_with(anew, at=22), both, again) == []


def test_a_rank_that_is_a_round_ahead_at_each_reading_is_not_told() -> None:
    """Rounds are as short as readings are apart; the others are seen at the ends of theirs."""
    rounds = [
        {rank: (LoaderCount(LOOP, 12 * n, n, n + 1 if rank == 1 else n, 12), 12 * n) for rank in range(3)}
        for n in range(1, 5)
    ]
    assert told_of(*rounds) == []


def test_what_comes_after_the_loop_is_no_going_on_with_it() -> None:
    """Rank 1 is in its next round, and the others evaluate behind the last one."""
    ended = replace(USUAL, stops=1)
    anew = replace(USUAL, made=2, stops=1)
    ranks = [{rank: (anew if rank == 1 else ended, at) for rank in range(3)} for at in (20, 40)]
    assert told_of(*ranks) == []


@pytest.mark.parametrize("goes_round", [False, True])
def test_a_rank_that_came_to_its_end_is_told_unless_data_go_round(goes_round: bool) -> None:
    """Each rank may go round its own data until the agreed number of steps is done."""
    anew = replace(USUAL, made=2, stops=1, length=None)
    assert told_of(ranks_with(anew, ahead=1), ranks_with(anew, at=20 + SINCE), goes_round=goes_round) == []
    told = told_of(ranks_with(anew, ahead=1), ranks_with(anew, at=20 + 1 + SINCE), goes_round=goes_round)
    assert [(sign.code, tuple(sign.culprits)) for sign in told] == ([] if goes_round else [("DD201", (1,))])
    assert all("came to the end of the loop over the loader at train.py:30 and began" in sign.said for sign in told)


def standings(*ends: tuple[int, ...], broken: bool = False) -> Reading:
    """Ranks whose loader has come to its end after so many batches, and is in its next round."""
    ranks = {}
    for rank, batches in enumerate(ends):
        made = len(batches) + 1 + broken
        count = replace(USUAL, made=made, stops=len(batches), length=None)
        own = tuple(End(number, total, 5.0 + total) for number, total in enumerate(batches, 1))
        ranks[rank] = Standing((count,), 300, own)
    return Reading(LOOP, ranks, 0.0, 200.0, goes_round=False)


@pytest.mark.parametrize(
    ("ends", "culprits"),
    [(((100,), (100,), (91,)), [(2,)]), (((100,), (91,)), [()]), (((91, 191), (91, 182), (91, 191)), [(1,)])],
)
def test_ends_after_different_numbers_of_batches_are_told(ends: tuple[tuple[int, ...], ...], culprits: object) -> None:
    told = EarlySigns().take(standings(*ends))
    assert [tuple(sign.culprits) for sign in told] == culprits
    assert told[0].since == 5.0 + min(one[-1] for one in ends)


@pytest.mark.parametrize(
    "reading",
    [
        pytest.param(standings((100,), (100,), (100, 200)), id="a rank that is an epoch ahead in its counters"),
        pytest.param(standings((100,), (191,), broken=True), id="all stop with the first that has no more"),
        pytest.param(replace(standings((100,), (91,)), goes_round=True), id="data go round"),
        pytest.param(replace(standings((100,), (91,)), joins=True), id="Join"),
    ],
)
def test_ends_that_say_nothing(reading: Reading) -> None:
    assert EarlySigns().take(reading) == []
