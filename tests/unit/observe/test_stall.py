"""The two timeouts, tested with a simulated clock."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.observe import stall
from ddpdoctor.observe.stall import Decision, Progress, Pulse
from ddpdoctor.observe.watcher import CALM, READING


def fresh(**changes: object) -> Progress:
    return replace(Progress(started=0.0, moved=0.0), **changes)  # type: ignore[arg-type]


def run_until(
    progress: Progress, now: float, until: float, wanted: float | None = None
) -> tuple[Progress, list[tuple[float, Decision]]]:
    """Half-second ticks of a job that does not move; looks for a proof find none, the first stall is reported."""
    decisions: list[tuple[float, Decision]] = []
    while now < until:
        decision = stall.decide(progress, now, wanted)
        if decision is Decision.PROVE:
            progress = stall.proof_failed(progress, now)
        elif decision is Decision.STALLED:
            progress = stall.reported(progress, now)
        if decision is not Decision.KEEP:
            decisions.append((now, decision))
        now += 0.5
    return progress, decisions


def moving(times: list[float], steps: int = 1) -> Progress:
    progress = fresh()
    for time in times:
        progress = stall.advance(progress, Pulse(time, time, steps, pages=1))
    return progress


def test_a_proof_is_looked_for_after_three_seconds_and_then_ever_more_rarely() -> None:
    _, decisions = run_until(moving([10.0]), 10.0, 39.0)
    assert [time for time, _ in decisions] == [13.0, 15.0, 19.0, 27.0]
    assert {decision for _, decision in decisions} == {Decision.PROVE}


def test_movement_starts_the_looks_again() -> None:
    progress, _ = run_until(moving([10.0]), 10.0, 20.0)
    progress = stall.advance(progress, Pulse(20.0, 20.0, 1, pages=1))
    assert stall.decide(progress, 22.5, None) is Decision.KEEP
    assert stall.decide(progress, 23.0, None) is Decision.PROVE


def test_without_a_page_no_proof_is_looked_for() -> None:
    _, decisions = run_until(fresh(), 0.0, 599.0)
    assert decisions == []


@pytest.mark.parametrize(
    ("progress", "seconds"),
    [
        (fresh(), 600.0),
        (moving([1.0]), 30.0),
        (moving([1.0, 2.0, 3.0]), 30.0),
        (moving([1.0, 13.0, 14.0]), 60.0),
        (replace(moving([1.0, 13.0]), group_timeout=90.0), 45.0),
        (fresh(group_timeout=600.0), 300.0),
        (fresh(blind=True), 60.0),
    ],
)
def test_auto_learns_from_the_run(progress: Progress, seconds: float) -> None:
    assert stall.stall_after(progress, None) == seconds
    assert stall.stall_after(progress, 10.0) == 10.0


def test_the_gap_before_the_first_step_teaches_nothing() -> None:
    progress = moving([200.0], steps=0)
    assert stall.stall_after(progress, None) == 600.0
    assert stall.stall_after(stall.advance(progress, Pulse(400.0, 400.0, 1, pages=1)), None) == 30.0


def test_other_progress_than_steps_teaches_after_a_while() -> None:
    times = [0.5 * number for number in range(1, stall.TAUGHT + 1)]
    assert stall.stall_after(moving(times[:-1], steps=0), None) == 600.0
    taught = moving(times, steps=0)
    assert stall.stall_after(taught, None) == 30.0
    slower = stall.advance(taught, Pulse(32.0, 32.0, 0, pages=1))
    assert stall.stall_after(slower, None) == 60.0


def test_a_job_that_is_told_to_end_is_looked_at_first_if_it_stands() -> None:
    progress = moving([10.0])
    assert not stall.stands_still(progress, 15.9)
    assert stall.stands_still(progress, 16.0)
    assert not stall.stands_still(stall.reported(progress, 16.0), 17.0), "its report is there already"
    assert not stall.stands_still(fresh(), 60.0), "without a page nothing is known of its movement"


def test_a_stall_is_looked_at_again_after_the_same_time_and_then_with_growing_pauses() -> None:
    _, decisions = run_until(moving([10.0]), 10.0, 600.0, wanted=10.0)
    stalls = [time for time, decision in decisions if decision is Decision.STALLED]
    assert stalls == [20.0, 30.0, 60.0, 100.0, 180.0, 340.0]


def test_a_look_that_finds_nothing_starts_the_stall_clock_again() -> None:
    progress = stall.cleared(moving([10.0]), 20.0)
    assert stall.decide(progress, 29.5, 10.0) is not Decision.STALLED
    assert stall.decide(progress, 30.0, 10.0) is Decision.STALLED
    moved = stall.advance(progress, Pulse(31.0, 31.0, 1, pages=1))
    assert stall.decide(moved, 31.0, 10.0) is Decision.KEEP


def test_one_movement_after_a_report_is_told_when_the_job_lives_on() -> None:
    progress = stall.reported(moving([10.0]), 20.0)
    assert stall.decide(progress, 21.0, 10.0) is Decision.KEEP
    progress = stall.advance(progress, Pulse(25.0, 24.8, 1, pages=1))
    assert stall.decide(progress, 36.9, 10.0) is Decision.KEEP, "it may be a timeout's exception that ends the job"
    assert stall.decide(progress, 37.0, 10.0) is Decision.RESUMED
    progress = stall.resumed(progress)
    assert stall.decide(progress, 37.5, 10.0) is Decision.STALLED


def test_going_on_to_move_after_a_report_is_told_once() -> None:
    progress = stall.reported(moving([10.0]), 20.0)
    for moved in (24.8, 26.0, 27.7):
        progress = stall.advance(progress, Pulse(moved + 0.2, moved, 1, pages=1))
        assert stall.decide(progress, moved + 0.3, 10.0) is Decision.KEEP
    progress = stall.advance(progress, Pulse(28.0, 27.9, 1, pages=1))
    assert stall.decide(progress, 28.0, 10.0) is Decision.RESUMED
    progress = stall.resumed(progress)
    assert stall.decide(progress, 28.5, 10.0) is Decision.KEEP
    assert stall.decide(progress, 38.0, 10.0) is Decision.STALLED


def test_a_timeout_that_is_known_stays_known() -> None:
    progress = stall.advance(fresh(), Pulse(1.0, 1.0, 0, pages=1, group_timeout=120.0))
    progress = stall.advance(progress, Pulse(2.0, 2.0, 0, pages=1, group_timeout=None))
    assert stall.stall_after(progress, None) == 60.0


GAPS = st.lists(st.floats(0.1, 1000.0), min_size=1, max_size=20)


@given(GAPS, st.none() | st.floats(1.0, 4000.0))
def test_auto_lies_between_its_floor_and_half_the_group_timeout(gaps: list[float], timeout: float | None) -> None:
    now, progress = 0.0, fresh()
    for gap in gaps:
        now += gap
        progress = stall.advance(progress, Pulse(now, now, 1, pages=1, group_timeout=timeout))
    limit = stall.stall_after(progress, None)
    if timeout is None:
        assert limit >= stall.FLOOR
        assert limit >= stall.FACTOR * max(gaps[1:], default=0.0) * (1 - 1e-9)
    else:
        assert limit <= timeout / 2


@given(GAPS, st.none() | st.floats(5.0, 100.0))
def test_a_job_that_moves_often_enough_is_never_a_stall(gaps: list[float], wanted: float | None) -> None:
    now, progress = 0.0, moving([0.0])
    for gap in gaps:
        limit = stall.stall_after(progress, wanted)
        tick = now + min(gap, limit * 0.99)
        assert stall.decide(progress, tick, wanted) in (Decision.KEEP, Decision.PROVE)
        now = tick + 1e-3
        progress = stall.advance(progress, Pulse(now, now, 1, pages=1))


@given(st.floats(0.0, 1e6), st.floats(0.0, 1e6))
def test_an_older_reading_changes_nothing(moved: float, older: float) -> None:
    progress = moving([max(moved, older) + 1.0])
    assert stall.advance(progress, Pulse(0.0, min(moved, older), 1, pages=1)).moved == progress.moved


def test_a_job_goes_on_as_it_did_after_a_minute_of_training_until_it_stands_or_is_reported() -> None:
    progress = moving([float(time) for time in range(1, 60)])
    assert not stall.goes_on(progress, 59.5), "it trains for less than a minute"
    progress = stall.advance(progress, Pulse(63.0, 63.0, 1, pages=1))
    assert stall.goes_on(progress, 63.5)
    assert not stall.goes_on(progress, 64.5), "it has not moved just now"
    assert not stall.goes_on(stall.reported(progress, 63.2), 63.5)
    assert not stall.goes_on(fresh(started=0.0, moved=63.0), 63.5), "nothing is known of how it moves"


@given(last=st.floats(100.0, 105.0))
def test_the_pause_between_readings_of_a_job_that_goes_on_does_not_delay_a_proof(last: float) -> None:
    progress, now, pause = fresh(), 0.0, READING
    while now < 200.0:
        moved = min(now, last)
        progress = stall.advance(progress, Pulse(now, moved, 1, pages=1))
        if stall.decide(progress, now, None) is Decision.PROVE:
            break
        pause = CALM if stall.goes_on(progress, now) else READING
        now += pause
    assert stall.PROOF_AFTER <= now - last <= stall.PROOF_AFTER + READING
