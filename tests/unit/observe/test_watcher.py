"""Which verdicts are passed on as new, and which confirm an earlier one: `--on-hang stop` acts on the second kind."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ddpdoctor.collect.capture import Capture, Sample
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Outcome
from ddpdoctor.model.evidence import Timing
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.report import Report
from ddpdoctor.observe.inspector import Inspector, Verdict
from ddpdoctor.observe.watcher import Callbacks, Policy, Watcher
from tests.golden.reports import REPORTS

CAPTURE = Capture((Sample(1.0, (), ()),), Timing(0.0, 0.0, 0.0, 0.0))
HANG = REPORTS["hang-certain"]


def suspected(confidence: Confidence = Confidence.LIKELY) -> Report:
    first = replace(HANG.diagnoses[0], confidence=confidence)
    return replace(HANG, deadlock=Deadlock.SUSPECTED, diagnoses=(first,))


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def watcher(tmp_path: Path, told: list[str]) -> Watcher:
    def note(word: str) -> Callable[[object], None]:
        return lambda _: told.append(word)

    words = ("new", "confirmed", "restarted", "resumed", "ending", "lost", "looked")
    callbacks = Callbacks(*(note(word) for word in words))
    return Watcher(Inspector(tmp_path, (), {}, {}, 0.0, 0.0), 1, callbacks, Policy(stall_after=8.0))


def found(watcher: Watcher, *reports: Report) -> None:
    for report in reports:
        watcher._pass_on(Verdict(report, CAPTURE))


def test_the_same_again_confirms(watcher: Watcher, told: list[str]) -> None:
    found(watcher, suspected(), suspected(), suspected(Confidence.CERTAIN))
    assert told == ["new", "confirmed", "confirmed"]


def test_what_was_only_possible_before_is_no_first_look(watcher: Watcher, told: list[str]) -> None:
    found(watcher, suspected(Confidence.POSSIBLE), suspected(), suspected())
    assert told == ["new", "new", "confirmed"]


def test_a_job_that_was_healthy_in_between_has_moved(watcher: Watcher, told: list[str]) -> None:
    healthy = replace(HANG, outcome=Outcome.HEALTHY, deadlock=Deadlock.NO, diagnoses=())
    found(watcher, suspected(), healthy, suspected())
    assert told == ["new", "new"]


def test_a_rank_that_turns_out_to_be_slow_is_told(watcher: Watcher, told: list[str]) -> None:
    found(watcher, suspected(), replace(suspected(), outcome=Outcome.SLOW, deadlock=Deadlock.NO), suspected())
    assert told == ["new", "new", "new"]


CRASH = replace(HANG, outcome=Outcome.CRASH, deadlock=Deadlock.NO)
NOBODY = replace(CRASH, diagnoses=(replace(HANG.diagnoses[0], culprits=RankSet(), summary="ended from outside"),))


def stood(watcher: Watcher, last: Report) -> Report:
    watcher._stood_in = Verdict(suspected(), CAPTURE)
    return watcher._with_standing(Verdict(last, CAPTURE)).report


def test_an_end_from_outside_is_told_as_the_hang_that_the_job_stood_in(watcher: Watcher) -> None:
    report = stood(watcher, NOBODY)
    assert report.outcome is Outcome.HANG
    assert report.notes[-1] == "the job stood still until its end: ended from outside"


def test_a_failure_of_a_rank_stays_the_verdict_with_what_the_job_stood_in_before(watcher: Watcher) -> None:
    report = stood(watcher, CRASH)
    assert report.outcome is Outcome.CRASH
    assert report.notes[-1].startswith("before, the job stood still: ")


def test_a_job_that_moved_on_did_not_stand_until_its_end(watcher: Watcher) -> None:
    watcher._stirred = 1.0
    assert stood(watcher, NOBODY).outcome is Outcome.CRASH


def test_an_exception_of_the_end_is_no_progress(watcher: Watcher) -> None:
    watcher._stirred = time.monotonic()
    assert stood(watcher, NOBODY).outcome is Outcome.HANG


def while_looking(watcher: Watcher, event: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """A stall is looked at, and `event` happens meanwhile."""

    def examine() -> Verdict:
        event()
        return Verdict(suspected(), CAPTURE)

    monkeypatch.setattr(watcher, "examine", examine)
    watcher._look_at_a_stall()


def test_a_job_that_moves_while_it_is_looked_at_does_not_stand(
    watcher: Watcher, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def move() -> None:
        progress = replace(watcher._progress, moved=watcher._progress.moved + 1.0)
        monkeypatch.setattr(watcher, "_take_pulse", lambda: setattr(watcher, "_progress", progress))

    while_looking(watcher, move, monkeypatch)
    assert told == []
    # WHEN it does not move any more
    while_looking(watcher, lambda: None, monkeypatch)
    assert told == ["new"]


def test_a_job_that_turns_out_to_have_other_nodes_is_not_judged_by_one(
    watcher: Watcher, told: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    note = {"host": "h", "port": 1, "namespace": "n", "world_size": 4, "rank": 2, "pid": 1, "python": "p"}
    while_looking(watcher, lambda: (tmp_path / "store.0.4").write_text(json.dumps(note)), monkeypatch)
    assert told == []
