"""Ranks in the same turn of a loop without a loader have as many collectives behind them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ddpdoctor.observe import turns
from ddpdoctor.observe.shifts import Shift
from ddpdoctor.observe.stream import BACKWARD, CALL, FORWARD, NEXT, Moment, Names
from ddpdoctor.observe.turns import Seen, Turns

#: what a rank does in a turn: the routes of its collectives, "" for nothing
Loop = Callable[[int, int], list[str]]
RANKS, LENGTH, WRONG = 3, 150, 60


def steady(rank: int, turn: int) -> list[str]:
    del rank, turn
    return ["step"]


def skips(rank: int, turn: int) -> list[str]:
    return [] if (rank, turn) == (1, WRONG) else ["step"]


def twice(rank: int, turn: int) -> list[str]:
    return ["step", "again"] if (rank, turn) == (1, WRONG) else ["step"]


def other_line(rank: int, turn: int) -> list[str]:
    return ["other"] if (rank, turn) == (1, WRONG) else ["step"]


def evaluates(rank: int, turn: int) -> list[str]:
    del rank
    return ["step", "evaluate"] if turn % 10 == 9 else ["step"]


def look(
    loop: Loop, seed: int = 0, *, epoch: int = LENGTH, code: int = CALL, wide: int = 0
) -> tuple[Turns, list[Shift]]:
    """Ranks that meet at every collective, looked at now and then: `wide` says how many collectives a look takes."""
    names, chance = Names(), random.Random(seed)
    group = names.group("0", "", tuple(range(RANKS)))
    found, told = Turns(names), []
    place = names.place(code, ("train.py", 5, "train"), "")
    routes = {
        text: names.route(place, (("train.py", line, text),))
        for line, text in enumerate(("step", "again", "other", "evaluate"))
    }
    acts = [[(turn, text) for turn in range(LENGTH) for text in loop(rank, turn)] for rank in range(RANKS)]
    for number in range(min(map(len, acts))):
        for rank in range(RANKS):
            text = acts[rank][number][1]
            found.add(rank, [Moment(number * 0.1, code, 1, place, group, True, route=routes[text])])
        if number % 3 == 2:
            seen = []
            for rank in range(RANKS):
                begun, visits = acts[rank][number][0] % epoch + 1, found.visits(rank, routes["step"])
                seen.append(Seen(rank, visits - chance.randint(0, wide), visits, begun, False))
            shift = found.take(routes["step"], seen, number * 0.1, several=False)
            told += [shift] if shift is not None else []
    return found, told


@pytest.mark.parametrize(("loop", "by"), [(skips, -1), (twice, 1)])
@pytest.mark.parametrize("wide", [0, 1, 3])
def test_a_rank_that_left_out_or_repeated_its_work_is_told_once(loop: Loop, by: int, wide: int) -> None:
    _, told = look(loop, wide=wide)
    assert [(shift.by, shift.majority) for shift in told] == [(((1, by),), True)]


@pytest.mark.parametrize("loop", [steady, other_line, evaluates])
@given(st.integers(0, 1000), st.integers(0, 3))
@example(445, 2)
def test_healthy_loops_are_silent(loop: Loop, seed: int, wide: int) -> None:
    assert look(loop, seed, wide=wide)[1] == []


@pytest.mark.parametrize("epoch", [7, 20, 30])
def test_a_loop_that_begins_anew_is_no_shift(epoch: int) -> None:
    assert look(steady, epoch=epoch)[1] == []


@pytest.mark.parametrize("visits", [1, 3])
@given(turns=st.integers(1, 12), apart=st.integers(1, 40), wide=st.integers(0, 8), seed=st.integers(0, 10_000))
@example(turns=6, apart=6, wide=1, seed=51)
def test_a_short_loop_looked_at_seldom_says_nothing(turns: int, apart: int, wide: int, visits: int, seed: int) -> None:
    """Ranks in step, in a loop that begins anew all the time, looked at one after the other."""
    names, chance = Names(), random.Random(seed)
    group = names.group("0", "", tuple(range(RANKS)))
    place = names.place(CALL, ("train.py", 5, "train"), "")
    route = names.route(place, (("train.py", 5, "step"),))
    found, made = Turns(names), 0
    met = Moment(0.0, CALL, 1, place, group, True, route=route)
    for number in range(60):
        made += chance.randint(1 + apart // 2, 1 + apart)
        seen = []
        for rank in range(RANKS):
            before, made = made, made + chance.randint(0, wide)
            looked = chance.randint(before, made)
            comes = True if looked % visits == 0 else None
            seen.append(Seen(rank, before, made, looked // visits % turns + 1, comes))
        for rank in range(RANKS):
            found.add(rank, [met] * (made - found.visits(rank, route)))
        assert found.take(route, seen, float(number), several=visits > 1) is None


FAULTS = {"none": 0, "left out": -1, "twice": 1}


def stroll(turns: int, visits: int, seed: int, odd: int, fault: str) -> list[Shift]:
    """What is told of ranks that meet at each collective, and are looked at anywhere in between."""
    names, chance = Names(), random.Random(seed)
    group = names.group("0", "", tuple(range(RANKS)))
    place = names.place(CALL, ("train.py", 5, "train"), "")
    route = names.route(place, (("train.py", 5, "step"),))
    found, told = Turns(names), []
    acts = [_course(turns, visits, fault if rank == odd else "none") for rank in range(RANKS)]
    spans = [_spans(pieces) for pieces in acts]
    at = [0] * RANKS
    for number in range(240):
        for rank in range(RANKS):
            # on to its next collective
            at[rank] = next(n for n in range(at[rank], len(acts[rank])) if acts[rank][n][1]) + 1
            found.add(rank, [Moment(number * 0.1, CALL, 1, place, group, True, route=route)])
        if chance.random() < 0.5:
            seen = []
            for rank in range(RANKS):
                until = next(n for n in range(at[rank], len(acts[rank])) if acts[rank][n][1])
                turn, _ = acts[rank][chance.randint(at[rank], until)]
                begin, end = spans[rank][turn]
                made = sum(calls for _, calls in acts[rank][begin : at[rank]])
                rest = sum(calls for _, calls in acts[rank][max(begin, at[rank]) : end])
                comes = made == 0 if visits == 1 or not made or not rest else None
                seen.append(Seen(rank, number + 1, number + 1, turn + 1, comes))
            shift = found.take(route, seen, number * 0.1, several=visits > 1)
            told += [shift] if shift is not None else []
    return told


@pytest.mark.parametrize(("turns", "visits"), [(4, 1), (7, 1), (1, 4), (1, 9)])
@pytest.mark.parametrize("fault", FAULTS)
@given(seed=st.integers(0, 10_000), odd=st.integers(0, RANKS - 1))
@example(seed=6740, odd=0)
@settings(max_examples=settings().max_examples // 6)  # each walks through a whole job
def test_turns_and_collectives_go_together(turns: int, visits: int, fault: str, seed: int, odd: int) -> None:
    told = [shift.by for shift in stroll(turns, visits, seed, odd, fault)]
    assert told in ([], [((odd, FAULTS[fault]),)] if fault != "none" else [])


@pytest.mark.parametrize(("turns", "visits"), [(4, 1), (7, 1), (1, 4), (1, 9)])
@pytest.mark.parametrize("fault", ["left out", "twice"])
def test_most_shifts_are_told(turns: int, visits: int, fault: str) -> None:
    assert sum(bool(stroll(turns, visits, seed, 1, fault)) for seed in range(8)) > 4


def _course(turns: int, visits: int, fault: str) -> list[tuple[int, int]]:
    """What a rank does, piece by piece: in which turn, and whether it makes a collective."""
    pieces, last = [], 120 // visits * turns
    for turn in range(2 * last + 20 * turns):
        calls = visits if turn % turns == turns - 1 else 0
        if last <= turn < last + turns and calls:
            calls += FAULTS[fault]
        pieces += [(turn, 0), *[(turn, 1)] * calls, (turn, 0)]
    return pieces


def _spans(pieces: list[tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Where each turn's pieces begin and end."""
    found: dict[int, tuple[int, int]] = {}
    for n, (turn, _) in enumerate(pieces):
        found[turn] = (found.get(turn, (n, n))[0], n + 1)
    return found


def test_loops_over_loaders_are_left_to_shifts() -> None:
    names = Names()
    group = names.group("0", "", (0, 1))
    place, route, loader = names.place(CALL, None, ""), names.route(0, (("a.py", 1, "f"),)), names.place(NEXT, None, "")
    found = Turns(names)
    for rank in (0, 1):
        for n in range(20):
            found.add(rank, [Moment(n, NEXT, 1, loader, -1), Moment(n, CALL, 1, place, group, True, route=route)])
    assert found.routes() == []


def test_layers_of_one_forward_are_one_visit() -> None:
    names = Names()
    group = names.group("0", "", (0, 1))
    place, forward = names.place(CALL, ("a.py", 1, "f"), ""), names.place(FORWARD, ("a.py", 1, "f"), "")
    route = names.route(place, (("a.py", 1, "f"),))
    found = Turns(names)
    for rank in (0, 1):
        for n in range(10):
            gathers = [Moment(n, CALL, 1, place, group, True, route=route)] * 4
            found.add(rank, [Moment(n, FORWARD, 1, forward, -1), *gathers, Moment(n, BACKWARD, 1, forward, -1)])
    assert found.visits(0, route) == 10


def _meetings(late: float, count: int = 40) -> Iterator[tuple[int, list[float]]]:
    chance = random.Random(0)
    for number in range(count):
        times = [number * 0.1 + chance.uniform(0.0, 0.002) for _ in range(RANKS)]
        times[1] += late if number == count - 1 else 0.0
        yield number, times


@pytest.mark.parametrize(("late", "looks"), [(0.0, False), (0.01, False), (0.06, True)])
def test_a_rank_that_comes_unusually_late_is_an_occasion(late: float, *, looks: bool) -> None:
    names = Names()
    group = names.group("0", "", tuple(range(RANKS)))
    place = names.place(CALL, ("a.py", 1, "f"), "")
    route = names.route(place, (("a.py", 1, "f"),))
    found = Turns(names)
    for _, times in _meetings(late):
        for rank, time in enumerate(times):
            found.add(rank, [Moment(time, CALL, 1, place, group, True, route=route)])
    # GIVEN that it is known how the ranks stand
    for now in (1.0, 2.0, 3.0, 4.0):
        seen = [Seen(rank, int(now) * 9, int(now) * 9, int(now) * 9, False) for rank in range(RANKS)]
        found.take(route, seen, now, several=False)
    assert found.is_due(route, 30.0, RANKS)
    assert found.is_due(route, 30.5, RANKS) is looks


def test_looks_take_their_share_of_the_time() -> None:
    names = Names()
    found = Turns(names)
    paid = 0.0
    for now in range(2 * 3600):
        if found.is_due(0, now / 2, 8):
            found.pay(0.3)
            paid += 0.3
    assert 1.0 < paid <= turns.CREDIT + 0.01 * 3600


def test_a_loop_of_which_nothing_is_learnt_is_left_alone() -> None:
    names = Names()
    group = names.group("0", "", tuple(range(RANKS)))
    place = names.place(CALL, ("a.py", 1, "f"), "")
    route = names.route(place, (("a.py", 1, "f"),))
    found, looks, begun = Turns(names), [], 0
    for tick in range(4 * 1000):
        now = tick / 4
        for rank in range(RANKS):
            found.add(rank, [Moment(now, CALL, 1, place, group, True, route=route)] * 10)
        if found.is_due(route, now, RANKS):
            # GIVEN a loop of three turns
            begun, visits = begun % 3 + 1, 10 * (tick + 1)
            seen = [Seen(rank, visits, visits, begun, False) for rank in range(RANKS)]
            found.take(route, seen, now, several=False)
            looks.append(now)
    assert turns.TRIES < len(looks) < turns.TRIES + 6


def test_looks_that_go_a_turn_back_without_a_visit_teach_nothing_wrong() -> None:
    """The last turn of one pass and the first of the next, with nothing in between: the ratio fits them all."""
    looks = [(20, 21, 5, True), (20, 20, 4, None), (45, 46, 9, None), (55, 56, 11, False), (65, 66, 13, None)]
    looks += [(75, 75, 15, None), (95, 95, 19, False), (120, 120, 24, None), (145, 145, 29, None), (170, 170, 34, None)]
    settled = turns._Settled()
    for number, (least, visits, begun, comes) in enumerate(looks):
        settled.merge([Seen(0, least, visits, begun, comes)], float(number), 0.0)
    assert settled.ratio == turns.Ratio(1, 5)
    assert settled.known([0]) == {0: 0}


def test_lost_moments_end_the_comparison() -> None:
    found, _ = look(steady)
    found.forget()
    assert not found.is_due(0, 1e6, RANKS)


def test_groups_that_come_and_go_are_forgotten() -> None:
    """A job may make a group for every epoch, for days."""
    names, used = Names(), 500
    found = Turns(names)
    place = names.place(CALL, ("train.py", 5, "train"), "")
    route = names.route(place, (("train.py", 5, "step"),))
    world = names.group("0", "", tuple(range(RANKS)))
    for number in range(used):
        for group in (names.group(str(number + 1), "", (0, 1)), world):
            for rank in names.known[group].members:
                found.add(int(rank), [Moment(number * 0.1, CALL, 1, place, group, True, route=route)])
    kept = (found._open, found._spreads, found._periods, found._last)
    assert all(len(of_groups) <= turns.MOST_GROUPS for of_groups in kept)
    assert all(world in of_groups for of_groups in kept)
