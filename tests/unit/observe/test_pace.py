"""How fast a job goes, who is behind, and the longest wait."""

from __future__ import annotations

from ddpdoctor.observe.pace import Head, Pace, Wait, advance


def head(rank: int, steps: int, moved: float, *, backwards: int = 0) -> Head:
    return Head(rank, steps, backwards, 0, moved)


def test_steps_per_second_are_those_of_late() -> None:
    pace = Pace()
    assert pace.rate is None
    for second in range(100):
        pace = advance(pace, float(second), [head(0, second * 2 if second < 50 else 100 + (second - 50), second)])
    assert pace.rate == 1.0
    assert len(pace.recent) == 31


def test_ranks_that_are_started_again_begin_anew() -> None:
    pace = advance(Pace(), 0.0, [head(0, 900, 0.0)])
    pace = advance(pace, 10.0, [head(0, 3, 10.0)])
    assert pace.rate is None
    # the page of the process that failed is still there
    pace = advance(pace, 14.0, [head(0, 900, 0.0), head(0, 7, 14.0)])
    assert pace.heads == (head(0, 7, 14.0),)
    assert pace.rate == 1.0


def test_who_is_behind_is_waited_for_since_the_others_stand_still() -> None:
    pace = advance(Pace(), 10.0, [head(0, 5, 9.5), head(1, 5, 9.9), head(2, 4, 8.0)])
    assert pace.wait is not None
    assert pace.wait.ranks == (2,)
    assert pace.longest is None, "a moment is no wait"
    pace = advance(pace, 20.0, [head(0, 5, 9.5), head(1, 5, 9.9), head(2, 4, 19.0)])
    assert pace.wait == pace.longest == Wait(20.0 - 9.9, (2,))
    pace = advance(pace, 21.0, [head(rank, 5, 20.5, backwards=1) for rank in range(3)])
    assert pace.wait is None
    assert pace.longest == Wait(20.0 - 9.9, (2,))


def test_ranks_that_are_equal_wait_for_nobody() -> None:
    assert advance(Pace(), 99.0, [head(0, 5, 1.0), head(1, 5, 2.0)]).wait is None
    assert advance(Pace(), 99.0, []) == Pace(recent=((99.0, 0),))
