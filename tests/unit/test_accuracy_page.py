"""docs/accuracy.md lists every miss, with its reason or as unexplained, and its figures add up."""

from __future__ import annotations

import dataclasses
import json

from benchmarks import accuracy_page
from benchmarks.accuracy_page import AS_IT_IS, CURED, Trial, page
from benchmarks.desync_runs import ASKED, DesyncRun
from benchmarks.first_runs import FirstRun
from benchmarks.healthy import HealthyRun, Said

RIGHT = Trial(AS_IT_IS, "uneven-inputs", 0, 4, "DD201", "DD201", True, "proven", "hang", "certain", silence=4.0)
UNSURE = dataclasses.replace(
    RIGHT,
    form="spawned",
    found="DD299",
    confidence="possible",
    missed={"code": ("DD201", "DD299"), "line": ("job.py:4", "job.py:9")},
)
LATE = dataclasses.replace(RIGHT, number=1, missed={"time": ("within 6 s", "7.1 s")}, silence=7.1)
CERTAIN_AND_WRONG = dataclasses.replace(
    RIGHT, form="packaged", missed={"code": ("DD201", "DD206")}, wrongly_certain=True
)
QUIET = HealthyRun("long_step", 0, 2, ("--on-hang", "stop"), (), 0, 20.0, load=2)
ALARM = HealthyRun("long_step", 1, 3, (), (Said("hang", "proven", ("DD203 certain",), True),), 4, 12.0)
ENDED = Trial(CURED, "uneven-inputs", 0, 4)
FIRST = FirstRun(
    *("a", "torch", False, "hang DD207 [1]", "hang", "proven", "DD207", "likely", (1,), "train.py:7"),
    right=("outcome", "code", "culprits", "line"),
    wrongly_certain=False,
    seconds=30.0,
)


def test_the_figures_add_up() -> None:
    text = page([RIGHT, UNSURE, LATE, ENDED], [QUIET], {})
    assert "- right code: 2 of 3 (66.7%)" in text
    assert "- right culprits: 3 of 3 (100.0%)" in text
    assert "- reported within the promised time: 2 of 3 (66.7%)" in text
    assert "- fixed programs: 1; false alarms: 0; called slow: 0" in text
    assert "- runs: 1, of 1 programs" in text
    assert "- false alarms, of a desync too: 0; called slow: 0" in text
    assert "| DD201 | 3 | DD201 2, DD299 1 | 3 | 2 | proven | certain 2, possible 1 | 4.0, 7.1 |" in text
    assert "| long_step | 1 | 1 | 1 | 2 | 0 | 0 |" in text


def test_every_miss_is_listed_with_its_reason() -> None:
    trials = [RIGHT, UNSURE, LATE, CERTAIN_AND_WRONG]
    reasons = {"spawned": {"uneven-inputs": "The loop is in a library."}}
    misses = page(trials, [QUIET, ALARM], reasons).split("## Misses")[1]
    runs: list[Trial | HealthyRun] = [*trials, QUIET, ALARM]
    for run in runs:
        assert (run.key in misses) is run.is_miss
    assert "code: DD299, not DD201; line: job.py:9, not job.py:4. The loop is in a library." in misses
    assert "**wrongly certain**; code: DD206, not DD201. Not explained yet." in misses
    assert "The answer is right and late" in misses
    # wrong answers come before late ones
    assert misses.index(UNSURE.key) < misses.index(LATE.key)


def test_without_a_report_nothing_was_right() -> None:
    silent = dataclasses.replace(RIGHT, found="none", missed={"report": ("a diagnosis", "none, exit status 0")})
    assert "- right culprits: 0 of 1" in page([silent], [], {})


def test_what_must_never_be_is_told_apart() -> None:
    assert accuracy_page.gravely_wrong([RIGHT, UNSURE, LATE, QUIET]) == []
    assert accuracy_page.gravely_wrong([CERTAIN_AND_WRONG, ALARM, RIGHT]) == [CERTAIN_AND_WRONG, ALARM]


def test_a_result_is_the_same_when_it_is_read_again() -> None:
    again = Trial(**json.loads(json.dumps(dataclasses.asdict(UNSURE))))
    assert page([again], [], {}) == page([UNSURE], [], {})
    assert again.key == UNSURE.key


def test_every_reason_is_for_a_fixture_or_a_healthy_program_that_exists() -> None:
    from benchmarks import healthy_nodes
    from ddpdoctor.repro import catalogue

    reasons = dict(accuracy_page.read_reasons())
    assert set(reasons.pop("healthy")) <= {f"nodes/{kind}" for kind in healthy_nodes.KINDS}
    known = set(catalogue.names(catalogue.root()))
    assert {name for names in reasons.values() for name in names} <= known


def test_an_alarm_is_shown_with_its_reason() -> None:
    alarm = dataclasses.replace(QUIET, kind="slow_node", status=1)
    assert "because of this" in page([], [alarm], {"healthy": {"slow_node": "It is because of this."}})
    assert "Not explained yet." in page([], [alarm], {})


def test_the_page_says_what_was_measured() -> None:
    quiet = dataclasses.replace(QUIET, commit="abc1234")
    text = page([dataclasses.replace(RIGHT, commit="bcd2345")], [quiet], {})
    fixtures, healthy_jobs = text.split("## Healthy jobs")
    assert "Commit bcd2345.\n" in fixtures
    assert "Commit abc1234.\n" in healthy_jobs
    assert "Commit" not in page([RIGHT], [QUIET], {})


def test_a_part_without_runs_stays_as_it_is() -> None:
    first = {"torch_12": [FIRST]}
    before = page([RIGHT], [QUIET], {}, "an old machine", first)
    assert page([], [], {}, "another machine", first, before=before) == before
    newer = page([], [dataclasses.replace(QUIET, seed=1), QUIET], {}, "another machine", first, before=before)
    assert newer.count("an old machine") == newer.count("another machine") == 1
    assert newer.split("## Healthy jobs")[0] == before.split("## Healthy jobs")[0]
    assert newer.split("## First runs")[1] == before.split("## First runs")[1]
    assert "- runs: 2, of 1 programs" in newer


def test_programs_with_a_silent_phase_have_a_table_and_their_misses() -> None:
    told = DesyncRun("a", "torch", 3, "desync [1]", ASKED, "DD207", "likely", (1,), "train.py:7", 0.5, "hang DD207 [1]")
    late = dataclasses.replace(told, name="b", right=tuple(what for what in ASKED if what != "prompt"), after=9.0)
    quiet = dataclasses.replace(told, name="c", expected="healthy []", right=("silent",), after=None)
    text = page([RIGHT], [], {}, silent={"desync_9": [told, late, quiet]})
    assert "| desync_9 |  | 2 | 2 | 1 | 2 | 2 | 2 | 1 | 1 | 0 |" in text
    assert "- desync_9/b (torch): right: told, culprits, line, same;" in text
    assert "desync_9/a" not in text
    assert "desync_9/c" not in text
