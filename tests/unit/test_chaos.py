"""What counts as a broken promise, and as growth, before anything is run."""

from __future__ import annotations

import random
from typing import Any

import pytest

from benchmarks import chaos, soak
from tests.e2e.chaos.faults import BY_NAME, FAULTS

KILL_WATCH, STOP_WATCH, KILL_RANK = (BY_NAME[name] for name in ("kill-watch", "stop-watch", "kill-a-rank"))


def came(**different: Any) -> dict[str, Any]:
    """A healthy run in which nothing went wrong."""
    usual: dict[str, Any] = {
        "statuses": [0],
        "seconds": 10.0,
        "after_launchers": 0.1,
        "stdout": ["step 0", "done"],
        "stderr": "ddpdoctor: watching",
        "reports": [["healthy", "no", [], []]],
        "left": [],
        "folders": [],
    }
    return {**usual, **different}


def told(code: str, culprits: list[int], deadlock: str = "no") -> list[Any]:
    return [["hang", deadlock, [[code, "likely", culprits, "likely"]], []]]


def test_nothing_is_broken_where_all_is_as_alone() -> None:
    assert not list(chaos.judge(STOP_WATCH, came(), came()))


def test_a_signal_s_status_is_told_as_a_shell_tells_it() -> None:
    assert not list(chaos.judge(KILL_RANK, came(statuses=[-9]), came(statuses=[137])))


@pytest.mark.parametrize(
    ("different", "said"),
    [
        ({"statuses": [1]}, "exit status"),
        ({"statuses": [None]}, "exit status"),
        ({"seconds": 40.0}, "40 s, alone 10 s"),
        ({"stdout": ["step 0"]}, "output differs"),
        ({"after_launchers": 30.0}, "after its launcher"),
        ({"left": ["python -m ddpdoctor watch"]}, "left running"),
        ({"left": ["python training.py"]}, "left running"),
        ({"folders": ["ddpdoctor-1-x"]}, "left behind"),
        ({"stderr": 'Traceback\n  File "/x/ddpdoctor/observe/watcher.py", line 1\n'}, "an exception of ours"),
        ({"stderr": "ddpdoctor: cannot continue watching (KeyError: 'x'); the job keeps running"}, "given up"),
        ({"reports": told("DD206", [1])}, "ranks [1] were blamed"),
        ({"reports": told("DD206", [], "proven")}, "a deadlock proven of a healthy job"),
    ],
)
def test_each_broken_promise_is_said(different: dict[str, Any], said: str) -> None:
    assert [one for one in chaos.judge(STOP_WATCH, came(), came(**different)) if said in one]


def test_in_a_job_that_hangs_its_culprit_may_be_blamed_and_no_other() -> None:
    ended = {"statuses": [124], "stdout": ["step 0"]}
    assert not list(chaos.judge(STOP_WATCH, {}, came(**ended, reports=told("DD206", [1], "proven"))))
    assert list(chaos.judge(STOP_WATCH, {}, came(**ended, reports=told("DD206", [0, 1], "proven"))))
    undecided = [["hang", "suspected", [["DD299", "possible", [2], "possible"]], []]]
    assert not list(chaos.judge(STOP_WATCH, {}, came(**ended, reports=undecided)))
    assert list(chaos.judge(STOP_WATCH, {}, came(statuses=[None])))
    assert not list(chaos.judge(STOP_WATCH, {}, came(statuses=[None], reports=told("DD299", [1], "suspected"))))


def test_a_watcher_that_is_gone_tells_nothing_and_leaves_its_folder() -> None:
    assert not list(chaos.judge(KILL_WATCH, came(), came(statuses=[-9], reports=[], folders=["ddpdoctor-1-x"])))
    assert list(chaos.judge(KILL_WATCH, came(), came(statuses=[-9], stdout=["step 0"])))


def test_the_page_has_a_row_for_each_fault() -> None:
    run = chaos.ChaosRun("stop-watch", chaos.HUNG, 3, ("left behind: x",), (), (124,), "hang DD206", 9.0, commit="abc")
    page = chaos.page([run])
    assert all(f"| {fault.name} |" in page for fault in FAULTS)
    assert "- `stop-watch/hung/3`: left behind: x" in page


def readings(slope: float, noise: float, seed: int) -> list[tuple[float, float]]:
    """Of half an hour; `slope` by the hour."""
    source = random.Random(seed)
    return [(5.0 * i, 50.0 + slope * 5.0 * i / 3600 + source.gauss(0.0, noise)) for i in range(360)]


def test_growth_is_found_with_its_interval() -> None:
    inside = 0
    for seed in range(100):
        found = soak.growth("watch", "MB", readings(6.0, 0.5, seed))
        inside += abs(found.slope - 6.0) <= found.error
        assert found.is_too_much
    assert inside >= 85  # of 100, where 95 are expected


def test_what_does_not_grow_is_not_said_to_grow() -> None:
    assert not any(soak.growth("watch", "MB", readings(0.0, 2.0, seed)).is_too_much for seed in range(100))
