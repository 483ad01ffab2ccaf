"""Unusual but healthy jobs: each ends by itself, and no report about it may be `proven` or `certain`."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.healthy import LOSING, Said, command
from tests.e2e.job import STARTUP, Report, Run, watch

HEALTHY = Path(__file__).parent / "healthy"
#: programs in which one rank works for half a minute while the others wait, and that rank
SLOW = {
    "slow_tokenizing": 1,
    "slow_compiling": 1,
    "slow_saving": 0,
    "slow_polling": 1,
    "slow_reading": 1,
    "slow_piping": 0,
}
NAMES = sorted(path.stem for path in HEALTHY.glob("*.py"))
QUICK = [name for name in NAMES if name not in SLOW]


def test_the_list_is_whole() -> None:
    assert set(SLOW) < set(NAMES)
    assert len(NAMES) >= 20
    assert all("--seed" in (HEALTHY / f"{name}.py").read_text() for name in NAMES)


@pytest.mark.parametrize("name", QUICK)
def test_patient_watch_says_nothing(name: str, tmp_path: Path) -> None:
    run = watch(command(name, 3), tmp_path, timeout=STARTUP + 60)
    assert run.status == 0, run.explain()
    _never_sure(name, run)
    assert all(report["outcome"] == "healthy" for report in _of_the_job(name, run)), run.explain()


@pytest.mark.parametrize("name", QUICK)
def test_hasty_watch_is_never_sure(name: str, tmp_path: Path) -> None:
    run = watch(command(name, 3), tmp_path, "--stall-after", "4", timeout=STARTUP + 60)
    assert run.status == 0, run.explain()
    _never_sure(name, run)


@pytest.mark.parametrize("name", sorted(SLOW))
def test_slow_rank_is_named_and_excused(name: str, tmp_path: Path) -> None:
    run = watch(command(name, 3), tmp_path, "--stall-after", "10", timeout=STARTUP + 60)
    assert run.status == 0, run.explain()
    _never_sure(name, run)
    slow = [report for report in run.reports if report["outcome"] == "slow"]
    assert slow, run.explain()
    assert slow[0]["deadlock"] == "no", run.explain()
    assert slow[0]["diagnoses"][0]["culprits"] == [SLOW[name]], run.explain()
    assert not any(report["outcome"] in ("hang", "crash") for report in run.reports), run.explain()


def _of_the_job(name: str, run: Run) -> list[Report]:
    """Without what is truly said of a failed attempt."""
    return [one for one in run.reports if not (name in LOSING and Said.of(one).true_of_an_attempt)]


def _never_sure(name: str, run: Run) -> None:
    for report in _of_the_job(name, run):
        assert report["deadlock"] != "proven", run.explain()
        assert not any(d["confidence"] == "certain" for d in report["diagnoses"]), run.explain()
