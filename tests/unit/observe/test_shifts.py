"""A shift between ranks is found at equal positions of the program, and what differs in healthy jobs is none."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.observe import shifts
from ddpdoctor.observe.shifts import Counted, Shifts
from ddpdoctor.observe.stream import BACKWARD, CALL, FORWARD, FORWARD_NO_SYNC, NEXT, NOWHERE, STEP, STOP, Moment, Names

Loop = Callable[[int, int], Iterator[tuple[int, str, bool]]]


def whole(rank: int, step: int) -> Iterator[tuple[int, str, bool]]:
    """What one rank does in one step of a healthy loop: (code, line, whether the group meets)."""
    del rank, step
    yield NEXT, "loop", False
    yield FORWARD, "forward", False
    yield BACKWARD, "backward", True
    yield STEP, "step", False


def skips_forward(rank: int, step: int) -> Iterator[tuple[int, str, bool]]:
    yield NEXT, "loop", False
    if not (rank == 1 and step == 20):
        yield from list(whole(rank, step))[1:]


def skips_backward(rank: int, step: int) -> Iterator[tuple[int, str, bool]]:
    yield NEXT, "loop", False
    yield FORWARD, "forward", False
    if not (rank == 1 and step == 20):
        yield BACKWARD, "backward", True
        yield STEP, "step", False


def extra_barrier(rank: int, step: int) -> Iterator[tuple[int, str, bool]]:
    yield from whole(rank, step)
    if rank == 1 and step == 20:
        yield CALL, "barrier", True


def metric_left_out(rank: int, step: int) -> Iterator[tuple[int, str, bool]]:
    yield NEXT, "loop", False
    for key in range(2 if rank == 1 and step == 20 else 3):
        yield CALL, f"metric {key}", True


def uneven_portions(rank: int, step: int) -> Iterator[tuple[int, str, bool]]:
    """Each rank cuts its batches into as many portions as it needs, and reduces with the last; one batch has its own
    line for that."""
    yield NEXT, "loop", False
    for _ in range((rank * 7 + step // 20) % 3):
        yield FORWARD_NO_SYNC, "portion", False
        yield BACKWARD, "portion", False
    yield FORWARD, "empty" if (rank, step) == (2, 30) else "portion", False
    yield BACKWARD, "portion", True


def figure_left_out(rank: int, step: int) -> Iterator[tuple[int, str, bool]]:
    """No loader, and one line makes all collectives."""
    yield CALL, "share by learn", True
    for _ in range(2 if (rank, step) == (1, 20) else 3):
        yield CALL, "share by post", True


def second_model_left_out(rank: int, step: int) -> Iterator[tuple[int, str, bool]]:
    """No loader, and one line takes the steps of two models."""
    for model in ("one",) if (rank, step) == (1, 20) else ("one", "two"):
        yield FORWARD, "forward", False
        yield BACKWARD, f"backward by {model}", True


def another_route_for_once(rank: int, step: int) -> Iterator[tuple[int, str, bool]]:
    yield CALL, "share by learn", True
    yield CALL, "share by empty" if (rank, step) == (1, 20) else "share by post", True


def another_line_for_once(rank: int, step: int) -> Iterator[tuple[int, str, bool]]:
    """Batches of a generator; an empty one has its own lines, which keep the rank in step."""
    mark = " of an empty batch" if (rank, step) == (1, 20) else ""
    yield FORWARD, f"forward{mark}", False
    yield BACKWARD, f"backward{mark}", True
    yield STEP, f"step{mark}", False
    yield CALL, f"metric{mark}", True


def trains_for_itself(rank: int, step: int) -> Iterator[tuple[int, str, bool]]:
    """Rounds between which weights are averaged; the batches of one rank are larger, and fewer."""
    del step
    for _ in range(12 if rank == 1 else 24):
        yield BACKWARD, "local", False
        yield STEP, "local", False
    yield CALL, "average", True


def evaluates_on_rank_zero(rank: int, step: int) -> Iterator[tuple[int, str, bool]]:
    yield from whole(rank, step)
    if rank == 0 and step % 5 == 0:
        yield NEXT, "evaluation", False
        yield FORWARD, "evaluation", False
        yield STOP, "evaluation", False


def varies(rank: int, step: int) -> Iterator[tuple[int, str, bool]]:
    """Each rank takes as many micro-batches as fit."""
    for _ in range(random.Random(97 * step + rank).randint(1, 3)):
        yield NEXT, "loop", False
    yield BACKWARD, "backward", True


def moment(names: Names, time: float, done: tuple[int, str, bool], group: int) -> Moment:
    """What is done at a line, "line" or "line by caller"."""
    code, text, meets = done
    line, _, caller = text.partition(" by ")
    place = names.place(code, (line, 1, ""), "")
    if not meets:
        return Moment(time, code, 1, place, NOWHERE)
    route = names.route(place, ((line, 1, ""), (caller or "main", 1, "")))
    return Moment(time, code, 1, place, group, code == BACKWARD, route=route)


def run(loop: Loop, ranks: int, *, steps: int = 40, seed: int = 0) -> tuple[Shifts, list[shifts.Shift], Names]:
    names = Names()
    group = names.group("0", "", tuple(range(ranks)))
    found = Shifts(names)
    told: list[shifts.Shift] = []
    streams = {}
    for rank in range(ranks):
        done = [one for step in range(steps) for one in loop(rank, step)]
        streams[rank] = [moment(names, i * 0.01, one, group) for i, one in enumerate(done)]
    order = random.Random(seed)
    while any(streams.values()):
        rank = order.choice([rank for rank, left in streams.items() if left])
        piece, streams[rank] = streams[rank][:7], streams[rank][7:]
        found.add(rank, piece)
        told.extend(found.found())
    return found, told, names


def more_portions(rank: int, step: int) -> Iterator[tuple[int, str, bool]]:
    """A loop over something that is no loader: only the optimizer's steps tell which round it is."""
    for _ in range(3 if (rank, step) == (1, 20) else 2):
        yield FORWARD, "forward", False
        yield BACKWARD, "backward", True
    yield STEP, "step", False


def window(rank: int, step: int, *, longer: bool) -> Iterator[tuple[int, str, bool]]:
    """An update over two batches; one of rank 1 takes three, or passes over one."""
    wrong = rank == 1 and step == 20
    if wrong and not longer:
        yield NEXT, "loop", False
    for _ in range(2 if wrong and longer else 1):
        yield NEXT, "loop", False
        yield FORWARD_NO_SYNC, "forward", False
        yield BACKWARD, "backward", False
    yield NEXT, "loop", False
    yield FORWARD, "forward", False
    yield BACKWARD, "backward", True
    yield STEP, "step", False


@pytest.mark.parametrize("ranks", [2, 3, 8])
@pytest.mark.parametrize("longer", [True, False])
def test_a_rank_that_is_a_batch_ahead_at_each_collective_is_told(ranks: int, *, longer: bool) -> None:
    found, told, names = run(partial(window, longer=longer), ranks)
    assert [(shift.counted, {rank for rank, _ in shift.by}) for shift in told] == [(Counted.BATCHES, {1})]
    assert told[0].visit == 21
    mine, theirs = shifts.parting(found.way(1, told[0]), found.way(0, told[0])) or (None, None)
    assert mine is not None
    assert theirs is not None
    codes = names.sites[mine.place][0], names.sites[theirs.place][0]
    assert codes == ((FORWARD_NO_SYNC, FORWARD) if longer else (NEXT, FORWARD_NO_SYNC))


@pytest.mark.parametrize(
    ("loop", "culprit"),
    [
        (skips_forward, 1),
        (skips_backward, 1),
        (extra_barrier, 1),
        (metric_left_out, 1),
        (more_portions, 1),
        (figure_left_out, 1),
        (second_model_left_out, 1),
    ],
)
def test_a_fault_is_told_within_seven_visits_with_its_rank(loop: Loop, culprit: int) -> None:
    _, told, _ = run(loop, 3)
    assert told
    assert {rank for shift in told for rank, _ in shift.by} == {culprit}
    assert all(shift.majority for shift in told)
    assert min(shift.visit for shift in told) <= 22


def test_with_two_ranks_there_is_a_shift_without_a_culprit() -> None:
    _, told, _ = run(skips_forward, 2)
    assert told
    assert not any(shift.majority for shift in told)


@pytest.mark.parametrize(
    "loop",
    [
        whole,
        evaluates_on_rank_zero,
        uneven_portions,
        varies,
        another_route_for_once,
        another_line_for_once,
        trains_for_itself,
    ],
)
@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_healthy_loops_are_silent(loop: Loop, ranks: int) -> None:
    assert run(loop, ranks)[1] == []


def test_loaders_of_different_lengths_are_left_out() -> None:
    def uneven(rank: int, step: int) -> Iterator[tuple[int, str, bool]]:
        for _ in range(9 if rank else 8):
            yield NEXT, "evaluation", False
            yield FORWARD, "evaluation", False
        yield STOP, "evaluation", False
        yield CALL, "gather", True
        yield from whole(rank, step)

    assert run(uneven, 3)[1] == []


def test_the_parting_is_the_first_thing_that_differs() -> None:
    found, told, names = run(skips_forward, 3)
    shift = told[0]
    apart = shifts.parting(found.way(1, shift), found.way(0, shift))
    assert apart is not None
    mine, theirs = apart
    assert mine is not None
    assert theirs is not None
    assert names.sites[mine.place][0] == NEXT
    assert names.sites[theirs.place][0] == FORWARD


@given(st.integers(2, 8), st.integers(0, 1000))
def test_the_order_in_which_pages_are_read_changes_nothing(ranks: int, seed: int) -> None:
    assert run(whole, ranks, seed=seed)[1] == []
    told = run(extra_barrier, ranks, seed=seed)[1]
    assert {shift.visit for shift in told} == {shift.visit for shift in run(extra_barrier, ranks)[1]}


def test_lost_moments_end_the_comparison() -> None:
    found, _, _ = run(whole, 3, steps=5)
    found.forget()
    found.add(0, [Moment(1.0, NEXT, 1, 0, NOWHERE)])
    assert found.found() == ()


def test_groups_of_every_epoch_cost_no_more_and_hide_nothing() -> None:
    """A job that makes a group for each epoch: those that it does not use any more are not followed."""
    names = Names()
    world = names.group("0", "", (0, 1, 2))
    places = {code: names.place(code, (f"{code}.py", 1, "train"), "") for code in (NEXT, FORWARD, BACKWARD, CALL)}
    seen, now = Shifts(names), 0.0
    for epoch in range(60):
        own = names.group(f"of epoch {epoch}", "", (0, 1, 2))
        for step in range(10):
            now += 1.0
            for rank in range(3):
                seen.add(rank, [Moment(now, NEXT, 1, places[NEXT], NOWHERE)])
                if rank == 1 and (epoch, step) == (50, 3):
                    continue  # the batch that it skips
                seen.add(rank, [Moment(now, FORWARD, 1, places[FORWARD], NOWHERE)])
                seen.add(rank, [Moment(now, BACKWARD, 1, places[BACKWARD], world, True)])
        for rank in range(3):
            seen.add(rank, [Moment(now, CALL, 1, places[CALL], own, True)])
    # at each place, and at each collective
    assert len(seen._places) + len(seen._batches) <= shifts.MOST_GROUPS * (len(places) + 1)
    found = [shift for shift in seen.found() if shift.group == world]
    assert {rank for shift in found for rank, _ in shift.by} == {1}
