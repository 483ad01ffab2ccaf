"""Healthy runs: what counts, what is made again, and what is a false alarm."""

from __future__ import annotations

import dataclasses
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from benchmarks import healthy, healthy_runs, ledger, measured
from benchmarks.healthy import HealthyRun, Said
from benchmarks.ledger import Ledger, Task

SLOW = Said("slow", "no", ("DD231 likely",), False)
HANG = Said("hang", "suspected", ("DD299 possible",), False)
SURE = Said("slow", "no", ("DD231 certain",), True)
WELL = HealthyRun("long_step", 0, 2, ("--on-hang", "stop"), (SLOW,), 0, 20.0, engine=measured.engine())


@pytest.mark.parametrize(
    ("said", "status", "alarm"),
    [
        ((), 0, ""),
        ((SLOW, SLOW), 0, ""),
        ((SLOW, HANG, SLOW), 0, "hang, deadlock suspected: DD299 possible"),
        ((Said("crash", "no", ("DD251 likely",), False),), 0, "crash, deadlock no: DD251 likely"),
        ((Said("slow", "proven", (), False),), 0, "slow, deadlock proven: "),
        ((SURE,), 0, "certain of DD231 certain"),
        ((), 1, "exit status 1"),
        ((SLOW,), None, "did not end in time"),
    ],
)
def test_healthy_jobs_may_be_called_slow_and_nothing_else(said: tuple[Said, ...], status: int, alarm: str) -> None:
    told = dataclasses.replace(WELL, said=said, status=status)
    assert told.alarm == alarm
    assert told.is_miss is bool(alarm)


def test_the_crash_of_an_attempt_is_no_alarm_where_the_launcher_starts_again() -> None:
    crash = Said("crash", "no", ("DD251 certain",), True)
    assert dataclasses.replace(WELL, kind="elastic_restart", said=(crash, SLOW)).alarm == ""
    assert dataclasses.replace(WELL, kind="elastic_restart", said=(crash, HANG)).alarm
    assert dataclasses.replace(WELL, kind="elastic_restart", said=(crash,), status=1).alarm == "exit status 1"
    assert dataclasses.replace(WELL, said=(crash,)).alarm


def test_a_rank_that_torch_aborts_at_its_end_is_a_crash_and_no_alarm() -> None:
    crash = Said("crash", "no", ("DD251 likely",), False)
    lost = dataclasses.replace(WELL, said=(crash,), status=1, aborted=True)
    assert lost.alarm == ""
    assert dataclasses.replace(lost, aborted=False).alarm
    assert dataclasses.replace(lost, said=(crash, HANG)).alarm
    assert "at a rank's end: 1; false alarms: 0" in healthy_runs.summary([lost])


def test_the_gist_of_a_report() -> None:
    diagnosis = {"code": "DD231", "confidence": "likely", "culprit_confidence": "certain"}
    report = {"outcome": "slow", "deadlock": "no", "diagnoses": [diagnosis]}
    assert Said.of(report) == Said("slow", "no", ("DD231 likely",), True)


def test_results_are_read_again_and_those_of_another_engine_do_not_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "build" / "healthy.jsonl"
    first = healthy.ledger(file)
    first.add(WELL)
    first.add(dataclasses.replace(WELL, seed=1, engine="another"))
    again = healthy.ledger(file)
    assert again.results == [WELL]
    assert WELL.key in again
    assert "long_step/1" not in again
    assert "another engine" in capsys.readouterr().err
    again.add(dataclasses.replace(WELL, seed=2))
    assert [json.loads(line)["seed"] for line in file.read_text(encoding="utf-8").splitlines()] == [WELL.seed, 2]
    assert healthy.ledger(file, fresh=True).results == []


def test_a_run_with_a_result_is_not_made_again(tmp_path: Path) -> None:
    made: list[str] = []
    results = healthy.ledger(tmp_path / "healthy.jsonl")
    results.add(WELL)

    def make(seed: int) -> Any:
        def one(folder: Path, stop: threading.Event) -> HealthyRun:
            made.append(f"long_step/{seed}")
            return dataclasses.replace(WELL, seed=seed)

        return one

    ledger.run([Task(f"long_step/{seed}", results, make(seed)) for seed in range(3)], jobs=1)
    assert made == ["long_step/1", "long_step/2"]
    assert {one.key for one in healthy.ledger(results.file).results} == {f"long_step/{seed}" for seed in range(3)}


def test_no_run_begins_when_the_time_is_up(tmp_path: Path) -> None:
    results = healthy.ledger(tmp_path / "healthy.jsonl")
    ledger.run([Task("long_step/0", results, lambda folder, stop: WELL)], jobs=1, minutes=-1.0)
    assert results.results == []


def test_a_run_that_is_broken_off_has_no_result(tmp_path: Path) -> None:
    results = healthy.ledger(tmp_path / "healthy.jsonl")

    def interrupted(folder: Path, stop: threading.Event) -> HealthyRun:
        raise KeyboardInterrupt

    def waiting(folder: Path, stop: threading.Event) -> HealthyRun:
        assert stop.wait(30.0)
        return WELL

    tasks = [Task("a/0", results, waiting), Task("b/0", results, interrupted)]
    with pytest.raises(KeyboardInterrupt):
        ledger.run(tasks, jobs=2)
    assert results.results == []


def test_half_of_the_runs_may_be_stopped() -> None:
    keys = [(kind, seed) for kind in healthy.kinds() for seed in range(4)]
    stopping = [key for key in keys if "stop" in healthy.options(*key)]
    assert len(stopping) == len(keys) / 2
    # whatever part of them is run, both halves are in it
    assert 0.3 < sum(seed == 0 for _, seed in stopping) / len(healthy.kinds()) < 0.7


def test_the_order_is_by_seed(tmp_path: Path) -> None:
    results: Ledger[HealthyRun] = healthy.ledger(tmp_path / "healthy.jsonl")
    keys = [task.key for task in healthy.tasks(2, results)]
    assert len(set(keys)) == len(keys) == 2 * len(healthy.kinds())
    assert all(key.endswith("/0") for key in keys[: len(healthy.kinds())])


def test_only_harmless_strangers_are_kinds() -> None:
    strangers = [kind for kind in healthy.kinds() if kind.startswith(healthy.UNSEEN)]
    assert f"{healthy.UNSEEN}/plain_a/tile_volumes" in strangers
    assert f"{healthy.UNSEEN}/plain_a/leaf_disease" not in strangers


def test_the_summary_names_every_alarm() -> None:
    bad = dataclasses.replace(WELL, seed=5, said=(HANG,), load=2)
    text = healthy_runs.summary([WELL, bad])
    assert text.startswith("2 runs of 1 kinds, 2 with --on-hang stop, 1 beside busy processes")
    assert "false alarms: 1" in text
    assert "long_step/5: FALSE ALARM hang" in text
    assert "long_step/0" not in text


def test_a_program_of_a_framework_that_is_not_installed_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "steps").mkdir()
    (tmp_path / "train.py").write_text("import os\nfrom steps import loop\nfrom . import own\nimport torch.nn\n")
    (tmp_path / "steps" / "loop.py").write_text("import no_such_framework.trainer\n")
    assert healthy.missing(tmp_path) == {"no_such_framework"}
