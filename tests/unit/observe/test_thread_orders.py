"""Threads that change places on a group are found, and an order that ranks share, or shift as a whole, is none."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.observe.stream import CALL, Moment, Names
from ddpdoctor.observe.thread_orders import CROSSED, MOST_AHEAD, MOST_KEPT, Crossing, ThreadOrders

MAIN, HELPER = 100, 200
#: one collective: the thread that makes it and its line
Made = tuple[int, str]
TRAIN, METRICS = (MAIN, "train"), (HELPER, "metrics")


def run(streams: Sequence[Sequence[Made]], *, seed: int = 0) -> list[Crossing]:
    """What is told of ranks that make these collectives, each at its own pace."""
    names = Names()
    group = names.group("0", "", tuple(range(len(streams))))
    orders = ThreadOrders(names)
    left = {
        rank: [
            Moment(i * 0.01, CALL, thread, names.place(CALL, (line, 1, ""), "all_reduce"), group, True)
            for i, (thread, line) in enumerate(stream)
        ]
        for rank, stream in enumerate(streams)
    }
    told: list[Crossing] = []
    pace = random.Random(seed)
    while any(left.values()):
        rank = pace.choice([rank for rank, own in left.items() if own])
        piece, left[rank] = left[rank][:5], left[rank][5:]
        orders.add(rank, piece, main=MAIN)
        told.extend(orders.found())
    return told


def mixed(seed: int, numbers: int) -> list[Made]:
    """As many of both threads, in an order of chance."""
    order = [TRAIN, METRICS] * (numbers // 2)
    random.Random(seed).shuffle(order)
    return order


AGREED = [TRAIN, METRICS, TRAIN, TRAIN, METRICS] * 20


@pytest.mark.parametrize("ranks", [2, 3, 8])
@given(seed=st.integers(0, 1000))
def test_threads_without_an_order_are_told(ranks: int, seed: int) -> None:
    told = run([AGREED + mixed(seed * 10 + rank, 60) for rank in range(ranks)], seed=seed)
    assert told
    assert told[0].number > len(AGREED)
    assert told[0].times >= CROSSED
    assert len({turn.role for turn in told[0].turns.values()}) > 1


@given(odd=st.integers(0, 2), late=st.integers(1, 4), seed=st.integers(0, 9))
def test_the_rank_whose_thread_always_comes_later_is_named(odd: int, late: int, seed: int) -> None:
    usual = [METRICS, *[TRAIN] * 9] * 12
    # by different numbers: all by the same would be a rank that is ahead as a whole
    slow = [*[TRAIN] * late, METRICS, *[TRAIN] * 8, METRICS, *[TRAIN] * (10 - late)] * 6
    told = run([AGREED + (slow if rank == odd else usual) for rank in range(3)], seed=seed)
    assert [crossing.odd for crossing in told[:1]] == [{odd}]


def test_of_two_ranks_none_is_named() -> None:
    told = run([AGREED + mixed(rank, 60) for rank in range(2)])
    assert [crossing.odd for crossing in told[:1]] == [frozenset()]


@given(
    order=st.lists(st.sampled_from([TRAIN, METRICS, (HELPER + 1, "evaluation")]), max_size=120), seed=st.integers(0, 9)
)
def test_any_order_that_ranks_share_is_silent(order: list[Made], seed: int) -> None:
    assert run([order, order, order], seed=seed) == []


@given(order=st.lists(st.sampled_from([TRAIN, METRICS]), min_size=20, max_size=120), data=st.data())
def test_what_one_rank_leaves_out_or_adds_is_no_disorder(order: list[Made], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(order) - 1))
    many = data.draw(st.integers(1, MOST_AHEAD))
    assert run([order, order[:place] + order[place + many :], order], seed=1) == []
    assert run([order, order[:place] + [METRICS] * many + order[place:], order], seed=1) == []


def test_lines_that_a_rank_has_for_itself_are_no_disorder() -> None:
    """`if rank == 0: ... else: ...`, each with its own call of the same collective."""
    other = [(thread, f"{line} of others") for thread, line in AGREED]
    assert run([AGREED, other, other]) == []


def test_one_thread_alone_is_no_disorder() -> None:
    """A rank that makes its calls in another order, in one thread, is a matter of its program."""
    swapped = [(MAIN, line) for _, line in mixed(1, 60)]
    assert run([[METRICS, *((MAIN, line) for _, line in mixed(2, 60))], [METRICS, *swapped]]) == []


def test_a_pool_whose_threads_take_any_task_is_told() -> None:
    """Which thread of a pool makes a collective says nothing; that two of them are at it at once does."""
    streams = [[(HELPER + i % 2, line) for i, (_, line) in enumerate([TRAIN, *mixed(seed, 100)])] for seed in range(3)]
    assert run(streams)


def test_what_is_kept_has_a_bound() -> None:
    long = [TRAIN, METRICS] * (2 * MOST_KEPT)
    late = [*long[1:], TRAIN]
    assert run([[METRICS, TRAIN, *long], [METRICS, TRAIN, *late]]) == []


def test_lost_moments_end_it() -> None:
    names = Names()
    group = names.group("0", "", (0, 1))
    orders = ThreadOrders(names)
    orders.forget()
    for rank in (0, 1):
        order = mixed(rank, 60)
        orders.add(
            rank,
            [Moment(0.0, CALL, thread, names.place(CALL, (line, 1, ""), ""), group) for thread, line in order],
            MAIN,
        )
    assert orders.found() == ()
