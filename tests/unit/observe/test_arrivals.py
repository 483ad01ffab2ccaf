"""The rank that the others wait for is the one that was delayed, by as much as it was delayed."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.model.waited import Waited
from ddpdoctor.observe import arrivals as arrivals_module
from ddpdoctor.observe.arrivals import Arrivals
from ddpdoctor.observe.stream import BACKWARD, CALL, FORWARD, NEXT, NOWHERE, Message, Moment, Names

#: (rank, step) -> (seconds of delay in the loader, seconds of delay between forward and backward)
Delays = Callable[[int, int], tuple[float, float]]
STEPS, STEP, JITTER = 200, 0.02, 0.0005


def play(delays: Delays, ranks: int = 3, *, chunk: int = 5) -> tuple[Waited, float]:
    """What was seen of a loop with these delays, and the share of the time that the ranks really waited."""
    names, noise = Names(), random.Random(1)
    group = names.group("0", "", tuple(range(ranks)))
    places = {code: names.place(code, (f"{code}.py", 10 + code, "train"), "") for code in (NEXT, FORWARD, BACKWARD)}
    moments: dict[int, list[Moment]] = {rank: [] for rank in range(ranks)}
    now, waited = 0.0, 0.0
    first = last = 0.0
    for step in range(STEPS):
        came = []
        for rank in range(ranks):
            data, host = delays(rank, step)
            at = now + STEP / 2 + data + noise.uniform(0, JITTER)
            moments[rank].append(Moment(at, NEXT, 1, places[NEXT], NOWHERE))
            moments[rank].append(Moment(at + 0.001, FORWARD, 1, places[FORWARD], NOWHERE))
            at += STEP / 2 + host
            moments[rank].append(Moment(at, BACKWARD, 1, places[BACKWARD], group, True))
            came.append(at)
        now = max(came)
        waited += sum(now - at for at in came)
        first, last = first or min(came), now
    arrivals = Arrivals(names)
    for start in range(0, 3 * STEPS, chunk):
        for rank in range(ranks):
            arrivals.add(rank, moments[rank][start : start + chunk])
    found = arrivals.waited()
    assert found is not None
    return found, waited / (ranks * (last - first))


def play_on_device(delays: Delays, *, synchronised: bool, ranks: int = 3) -> Waited:
    """What was seen of hosts that do not wait in backward; if they are `synchronised`, each waits for the slowest after
    it, as one does that prints the loss."""
    names, noise = Names(), random.Random(1)
    group = names.group("0", "", tuple(range(ranks)))
    next_, backward = (names.place(code, (f"{code}.py", 10 + code, "train"), "") for code in (NEXT, BACKWARD))
    arrivals = Arrivals(names)
    arrivals.device = True
    now = dict.fromkeys(range(ranks), 0.0)
    for step in range(STEPS):
        for rank in range(ranks):
            now[rank] += STEP / 2 + delays(rank, step)[0] + noise.uniform(0, JITTER)
            loaded = Moment(now[rank], NEXT, 1, next_, NOWHERE)
            now[rank] += STEP / 2
            arrivals.add(rank, [loaded, Moment(now[rank], BACKWARD, 1, backward, group, True)])
        if synchronised:
            now = dict.fromkeys(now, max(now.values()))
    found = arrivals.waited()
    assert found is not None
    assert found.device
    return found


def data(rank: int, step: int) -> tuple[float, float]:
    return (0.015 if rank == 1 else 0.0), 0.0


def host(rank: int, step: int) -> tuple[float, float]:
    return 0.0, (0.015 if rank == 2 and step % 2 else 0.0)


def alternating(rank: int, step: int) -> tuple[float, float]:
    return (0.015 if rank == (1 if step % 10 < 7 else 2) else 0.0), 0.0


def none(rank: int, step: int) -> tuple[float, float]:
    return 0.0, 0.0


@pytest.mark.parametrize(("delays", "stragglers"), [(data, {1: 200}), (alternating, {1: 140, 2: 60}), (none, {})])
def test_hosts_that_do_not_wait_are_compared_by_their_own_steps(delays: Delays, stragglers: dict[int, int]) -> None:
    found = play_on_device(delays, synchronised=False)
    assert {one.rank: one.last for one in found.stragglers} == pytest.approx(stragglers, rel=0.1)
    assert all(one.seconds == pytest.approx(0.015, rel=0.1) for one in found.stragglers)
    assert all(one.location is not None and one.location.line == 10 + NEXT for one in found.stragglers)


def test_of_hosts_that_wait_elsewhere_in_each_step_nobody_is_told() -> None:
    assert play_on_device(data, synchronised=True).stragglers == ()


@pytest.mark.parametrize(
    ("delays", "stragglers", "line"),
    [(data, {1: 200}, 10 + NEXT), (host, {2: 100}, 10 + FORWARD), (alternating, {1: 140, 2: 60}, 10 + NEXT)],
)
def test_a_delay_is_told_with_its_rank_length_and_line(delays: Delays, stragglers: dict[int, int], line: int) -> None:
    found, share = play(delays)
    assert {one.rank: one.last for one in found.stragglers} == pytest.approx(stragglers, rel=0.1)
    assert all(one.seconds == pytest.approx(0.015, rel=0.1) for one in found.stragglers)
    assert found.share == pytest.approx(share, rel=0.1)
    assert {one.location.line for one in found.stragglers if one.location} == {line}
    assert all(one.meetings == STEPS for one in found.stragglers)


def test_nobody_stands_out_among_equal_ranks() -> None:
    assert play(none)[0].stragglers == ()


@given(st.integers(2, 6), st.integers(1, 9))
def test_how_pages_are_read_changes_nothing(ranks: int, chunk: int) -> None:
    assert play(data, ranks, chunk=chunk) == play(data, ranks, chunk=600)


@given(st.lists(st.floats(0.0, 0.05), min_size=6, max_size=6))
def test_the_share_is_that_of_the_delays(delays: list[float]) -> None:
    found, share = play(lambda rank, step: (delays[(rank + step) % 6], 0.0))
    assert found.share == pytest.approx(share, rel=0.1, abs=0.01)


def exchanged(late: float, *, receiver_blocks: bool = True) -> Waited:
    """Rank 0 sends to rank 1 in each step, `late` seconds after rank 1 has come to its recv; then all meet."""
    names = Names()
    group = names.group("0", "", (0, 1, 2))
    forward, send, recv, reduce = (
        names.place(code, (f"{op or code}.py", 1, "train"), op)
        for code, op in ((FORWARD, ""), (CALL, "send"), (CALL, "recv"), (CALL, "all_reduce"))
    )
    arrivals = Arrivals(names)
    for step in range(STEPS):
        now = step * 2 * STEP
        for rank in (1, 0, 2):
            moments = [Moment(now, FORWARD, 1, forward, NOWHERE)]
            if rank == 0:
                moments.append(Moment(now + STEP / 2 + late, CALL, 1, send, NOWHERE, False, Message(0, 1, 0)))
            if rank == 1:
                blocks = receiver_blocks
                moments.append(Moment(now + STEP / 2, CALL, 1, recv, NOWHERE, blocks, Message(0, 1, 0)))
            end = now + STEP / 2 + (max(late, 0.0) if rank < 2 else 0.0)
            arrivals.add(rank, [*moments, Moment(end + 0.001, CALL, 1, reduce, group, True)])
    found = arrivals.waited()
    assert found is not None
    return found


def test_a_recv_waits_for_its_sender() -> None:
    (found,) = exchanged(0.015).stragglers
    assert (found.rank, found.meeting, found.last, found.meetings) == (0, "recv on rank 1", STEPS, STEPS)
    assert found.seconds == pytest.approx(0.015)
    assert found.location is not None
    assert found.location.file == f"{FORWARD}.py"


def test_a_sender_that_is_in_time_is_not_waited_for() -> None:
    assert exchanged(-0.005).stragglers == ()
    assert exchanged(0.015, receiver_blocks=False).stragglers == ()


def test_messages_whose_other_end_is_not_seen_are_given_up() -> None:
    names = Names()
    place = names.place(CALL, None, "send")
    arrivals = Arrivals(names)
    for step in range(3 * arrivals_module.MOST_PAIRS):
        for tag in (0, step):  # one that is always the same, and one for each message
            arrivals.add(0, [Moment(float(step), CALL, 1, place, NOWHERE, False, Message(0, 9, tag))])
            arrivals.add(0, [Moment(float(step), CALL, 1, place, NOWHERE, False, Message(0, 1, tag))])
            arrivals.add(1, [Moment(step + 0.1, CALL, 1, place, NOWHERE, True, Message(0, 1, tag))])
        assert len(arrivals._messages) <= arrivals_module.MOST_PAIRS
    assert arrivals._apart == {(0, 9)}
    assert not arrivals._messages


def reduced(late: float, buckets: int, kept: int) -> Waited:
    """All begin their backwards together, but rank 1 issues its first reduction `late` seconds later; of a recorder's
    ring the last `kept` are left."""
    names = Names()
    group = names.group("0", "", (0, 1, 2))
    place = names.place(BACKWARD, ("train.py", 7, "train"), "")
    arrivals = Arrivals(names)
    issued: dict[int, list[float]] = {rank: [] for rank in range(3)}
    for step in range(STEPS):
        for rank, times in issued.items():
            arrivals.add(rank, [Moment(step * STEP, BACKWARD, 1, place, group, True)])
            slow = late if rank == 1 else 0.0
            times += [step * STEP + 0.001 + slow + 0.001 * bucket for bucket in range(buckets)]
    for end in (len(issued[0]) // 2, len(issued[0])):  # read twice, what was counted is not counted again
        arrivals.reductions.take(group, {rank: times[:end][-kept:] for rank, times in issued.items()})
    found = arrivals.waited()
    assert found is not None
    return found


@pytest.mark.parametrize(("buckets", "kept", "seen"), [(1, 2000, STEPS - 1), (3, 2000, STEPS - 1), (3, 100, 66)])
def test_a_delay_inside_backward_is_seen_in_the_recorders(buckets: int, kept: int, seen: int) -> None:
    (found,) = reduced(0.008, buckets, kept).stragglers
    assert (found.rank, found.meeting, found.doing) == (1, "backward", "inside backward")
    assert found.last == found.meetings == pytest.approx(seen, abs=2)
    assert found.seconds == pytest.approx(0.008)
    assert found.location is not None
    assert found.location.line == 7


def test_reductions_of_ranks_that_are_not_seen_say_nothing() -> None:
    names = Names()
    group = names.group("0", "", (0, 1))
    arrivals = Arrivals(names)
    for rank in (0, 1):
        arrivals.add(rank, [Moment(1.0, BACKWARD, 1, names.place(BACKWARD, None, ""), group, True)])
    arrivals.reductions.take(group, {0: [1.5, 2.5]})
    found = arrivals.waited()
    assert found is None or found.stragglers == ()


def test_nothing_is_told_before_ranks_meet() -> None:
    assert Arrivals(Names()).waited() is None
