"""Which threads of a moving job wait for nobody but each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.observe import parts
from ddpdoctor.observe.parts import Attempts, Seat, Stand

WORLD = frozenset(range(4))


def stand(rank: int, op: str, group: str = "0", others: frozenset[int] = WORLD, thread: int = 0) -> Stand:
    return Stand(rank, thread or rank + 100, op, group, others - {rank}, op in ("send", "recv"), 1.0)


def seat(rank: int, *stands: Stand, threads: frozenset[int] | None = None, **users: frozenset[int]) -> Seat:
    return Seat(rank, rank, stands, threads or frozenset({rank + 100}), users)


def ranks(found: tuple[Stand, ...]) -> list[int]:
    return [one.rank for one in found]


def test_two_ranks_in_different_operations_of_their_group_are_closed() -> None:
    pair = frozenset({0, 1})
    seats = [seat(0, stand(0, "all_reduce", "a", pair)), seat(1, stand(1, "barrier", "a", pair)), seat(2), seat(3)]
    assert ranks(parts.closed(seats)) == [0, 1]


def test_ranks_that_wait_together_for_one_that_works_are_not() -> None:
    assert parts.closed([*(seat(rank, stand(rank, "all_reduce")) for rank in range(3)), seat(3)]) == ()


def test_two_receives_from_each_other_are_closed() -> None:
    seats = [seat(0, stand(0, "recv", others=frozenset({1}))), seat(1, stand(1, "recv", others=frozenset({0})))]
    assert ranks(parts.closed(seats)) == [0, 1]


def test_a_rank_that_has_ended_holds_those_that_wait_for_it() -> None:
    seats = [seat(0, stand(0, "recv", others=frozenset({1}))), Seat(1, 1, gone=True)]
    assert ranks(parts.closed(seats)) == [0]


def test_a_thread_that_alone_uses_a_group_is_closed_while_the_main_threads_move() -> None:
    both = frozenset({0, 1})
    seats = [
        seat(rank, stand(rank, op, "metrics", both, 7), threads=frozenset({rank + 100, 7}), metrics=frozenset({7}))
        for rank, op in enumerate(("barrier", "all_reduce"))
    ]
    assert ranks(parts.closed(seats)) == [0, 1]


def test_a_group_whose_users_are_not_known_may_be_used_by_a_thread_that_moves() -> None:
    both = frozenset({0, 1})
    seats = [
        seat(rank, stand(rank, op, "metrics", both, 7), threads=frozenset({rank + 100, 7}))
        for rank, op in enumerate(("barrier", "all_reduce"))
    ]
    assert parts.closed(seats) == ()


def test_a_chain_that_ends_at_a_rank_that_works_is_not_closed() -> None:
    seats = [
        seat(0, stand(0, "recv", others=frozenset({1}))),
        seat(1, stand(1, "recv", others=frozenset({2}))),
        seat(2),
    ]
    assert parts.closed(seats) == ()


@given(st.lists(st.tuples(st.sampled_from(["barrier", "all_reduce", "recv"]), st.booleans()), min_size=2, max_size=4))
def test_whoever_is_in_the_set_waits_for_somebody_in_it(drawn: list[tuple[str, bool]]) -> None:
    world = frozenset(range(len(drawn)))
    seats = [seat(i, *([stand(i, op, others=world)] if stands else [])) for i, (op, stands) in enumerate(drawn)]
    found = parts.closed(seats)
    members = {one.rank for one in found}
    assert all(one.others & members for one in found)
    assert members <= {i for i, (_, stands) in enumerate(drawn) if stands}


def test_a_set_is_tried_when_two_readings_show_it_and_not_again_before_the_pause() -> None:
    found = (stand(0, "barrier"),)
    attempts, again = parts.notice(Attempts(), found)
    assert not again
    attempts, again = parts.notice(attempts, found)
    assert again
    assert parts.is_due(attempts, 100.0)
    attempts = parts.tried(attempts, 100.0, 101.0, proven=False)
    assert not parts.is_due(attempts, 101.0 + parts.SHARE - 1)
    assert parts.is_due(attempts, 101.0 + parts.SHARE)


def test_a_set_that_was_told_is_not_tried_again_until_it_grows() -> None:
    found = (stand(0, "barrier"),)
    attempts = parts.notice(Attempts(), found)[0]
    attempts = parts.tried(attempts, 1.0, 2.0, proven=True)
    assert not parts.notice(attempts, found)[1]
    more = (*found, stand(1, "barrier"))
    assert parts.notice(parts.notice(attempts, more)[0], more)[1]
