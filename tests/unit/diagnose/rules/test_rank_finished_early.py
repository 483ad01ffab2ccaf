"""Ranks that ended with status 0 while others wait."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Outcome
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Motion, ProcessState, ThreadState
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import NOW, At, Doing, job

AT = At()


def test_rank_that_finished_while_others_wait() -> None:
    gone = Doing([AT.all("barrier", 2)], exit_status=0)
    waits = Doing([AT.all("barrier", 2), AT.all("new_group", 4)])
    report = examine(job([waits, waits, gone]))
    found = report.diagnoses[0]
    assert (found.code, found.confidence) == ("DD252", Confidence.CERTAIN)
    assert found.culprits.members == (2,)
    assert found.locations[0].line == 4
    assert (report.outcome, report.deadlock) == (Outcome.HANG, Deadlock.PROVEN)


def test_rank_that_finished_in_the_middle_of_training_may_have_run_out_of_data() -> None:
    gone = Doing(stories.epoch(3), exit_status=0, blocked=False)
    report = examine(job([stories.in_backward(4), stories.in_backward(4), gone], code=stories.CODE))
    found = next(diagnosis for diagnosis in report.diagnoses if diagnosis.code == "DD252")
    assert found.confidence is Confidence.LIKELY


DAYS = """\
def run(days):
    for day in days:
        rows = read(day)
        if not rows:
            return
        fit(rows)


def fit(rows):
    dist.all_reduce(rows)
"""


def test_the_return_in_the_loop_of_its_last_step_is_shown() -> None:
    act = replace(AT.all("all_reduce", 10, function="fit"), path=(AT.line(10, "fit"), AT.line(6, "run")))
    waits, gone = Doing([act] * 4), Doing([act] * 3, exit_status=0, blocked=False)
    found = examine(job([waits, gone, waits], code={AT.file: DAYS})).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD252", (1,), 5)
    # WHEN there are two of them THEN neither is
    twice = DAYS.replace("    fit(rows)\n\n", "    if fit(rows):\n            return\n")
    found = examine(job([waits, gone, waits], code={AT.file: twice})).diagnoses[0]
    assert (found.code, found.locations[0].line) == ("DD252", 10)


FORKED = """\
def main(ranks):
    for rank in range(ranks):
        if fork() == 0:
            run(rank)
            return


def run(rank):
    dist.all_reduce(rank)
"""


def test_a_return_that_simply_follows_the_last_step_is_not_shown() -> None:
    """A launcher of its own: its children return from the loop that forks them, whatever they did."""
    act = replace(AT.all("all_reduce", 9, function="run"), path=(AT.line(9, "run"), AT.line(4, "main")))
    waits, gone = Doing([act] * 4), Doing([act] * 3, exit_status=0, blocked=False)
    found = examine(job([waits, gone, waits], code={AT.file: FORKED})).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD252", (1,), 9)


STREAM = """\
def run(feed):
    for number, rows in enumerate(feed):
        fit(rows)
        dist.all_reduce(rows)
    return number
"""


def test_the_loop_that_the_others_are_still_in_is_shown() -> None:
    act = replace(AT.all("all_reduce", 4, function="run"), path=(AT.line(4, "run"), AT.line(9, "<module>")))
    waits, gone = Doing([act] * 4), Doing([act] * 3, exit_status=0, blocked=False)
    found = examine(job([waits, gone, waits], code={AT.file: STREAM})).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD252", (1,), 2)
    # WHEN the others have left it, too THEN it explains nothing
    later = Doing([*[act] * 3, AT.all("barrier", 9)])
    found = examine(job([later, gone, later], code={AT.file: STREAM})).diagnoses[0]
    assert (found.code, found.locations[0].line) == ("DD252", 9)


MARKS = """\
def wait(stage):
    while {asked}:
        time.sleep(0.25)


def main():
    dist.all_reduce(x)
    if done:
        return
    wait(stage)
    store.wait(["ledger"])
"""


@pytest.mark.parametrize(
    ("asked", "codes"), [("stage.marks() < world", {"DD252", "DD206"}), ("time.monotonic() < deadline", {"DD231"})]
)
def test_who_asks_again_and_again_waits_for_one_that_has_ended(asked: str, codes: set[str]) -> None:
    last = AT.all("all_reduce", 7, function="main")
    asks = Doing([last], blocked=False, stands=AT.line(3, "wait"))
    evidence = job(
        [asks, Doing([last, AT.all("all_reduce", 11, function="main")]), Doing([last], blocked=False, exit_status=0)],
        code={AT.file: MARKS.format(asked=asked)},
    )
    seen = evidence.ranks[0]
    nap = ThreadState(seen.worker.pid, "python", "S", "hrtimer_nanosleep", 1.0)
    still = Motion(1.0, 0.0, 0, Observed.NO, Observed.NO)
    process = ProcessState(NOW, "S", 1.0, 0, (nap,))
    sleeps = replace(seen, process=process, motion=still)
    found = examine(replace(evidence, ranks=(sleeps, *evidence.ranks[1:]))).diagnoses[0]
    assert found.code in codes
    assert found.culprits.members == ((2,) if "DD252" in codes else (0,))
