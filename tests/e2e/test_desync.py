"""A rank that shifts against the others is told while all still move; a healthy job, and a replaced batch, are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.desyncs.training import SILENT
from tests.e2e.job import STARTUP, Run, forked, watch

PROGRAM = Path(__file__).parent / "desyncs" / "training.py"
FAULTS = SILENT
#: told on every run of the tests; the others with `make test-slow`
SHOWN = ("skip",)
#: seconds from the first shifted visit to the warning: seven visits and a reading, on a machine that does more
WITHIN = 3.0


def run(kind: str, ranks: int, folder: Path) -> Run:
    return watch(
        forked(PROGRAM, ranks, "--kind", kind),
        folder,
        *("--on-desync", "stop"),
        timeout=STARTUP + 60,
        until=lambda report: report["outcome"] == "hang",
    )


@pytest.mark.parametrize("kind", [pytest.param(k, marks=[] if k in SHOWN else [pytest.mark.slow]) for k in FAULTS])
def test_a_fault_with_a_silent_phase_is_told_before_the_hang(kind: str, tmp_path: Path) -> None:
    told = run(kind, 3, tmp_path)
    assert told.report["outcome"] == "desync", told.explain()
    assert told.status == 124, told.explain()
    assert told.first["culprits"] == [1], told.explain()
    assert told.first["confidence"] in ("likely", "possible"), told.explain()
    times = told.report["timeline"]
    assert times["reported"] - told.report["desync"]["since"] <= WITHIN, told.explain()


def test_threads_that_change_places_on_a_group_are_told(tmp_path: Path) -> None:
    told = run("threads", 3, tmp_path)
    assert told.report["outcome"] == "desync", told.explain()
    assert (told.first["code"], told.first["culprits"]) == ("DD222", []), told.explain()
    assert [place["function"] for place in told.first["locations"]] == ["metrics", "with_threads"], told.explain()
    times = told.report["timeline"]
    assert times["reported"] - told.report["desync"]["since"] <= WITHIN, told.explain()


def test_with_two_ranks_the_shift_is_told_without_a_culprit(tmp_path: Path) -> None:
    told = run("skip", 2, tmp_path)
    assert told.report["outcome"] == "desync", told.explain()
    assert told.first["culprits"] == [], told.explain()
    assert told.first["confidence"] == "possible", told.explain()


@pytest.mark.parametrize("kind", [pytest.param("none", marks=[pytest.mark.slow]), "replaced", "threads-by-turns"])
def test_what_is_healthy_or_cannot_be_told_apart_is_silent(kind: str, tmp_path: Path) -> None:
    silent = run(kind, 3, tmp_path)
    assert silent.status == 0, silent.explain()
    assert all(report["outcome"] == "healthy" for report in silent.reports), silent.explain()
