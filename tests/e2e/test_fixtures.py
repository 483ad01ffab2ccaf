"""Runs every fixture: the broken program gets its verdict, the fixed one ends without a report."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from ddpdoctor.cli import main
from ddpdoctor.cli.lint_citations import UNFINISHED, WITHIN
from ddpdoctor.collect import bundle
from ddpdoctor.model.diagnosis import Deadlock
from ddpdoctor.repro.case import Case
from ddpdoctor.repro.catalogue import load_all, root
from ddpdoctor.repro.runner import launch_command, missing_packages
from tests.e2e import leftovers
from tests.e2e.ablation import wrongly_sure
from tests.e2e.job import STARTUP, Run, forked, is_told, torchrun, watch
from tests.statements.unsupported import unsupported_in

#: seconds from the last progress of any rank to the report, where a deadlock can be proven
PROVEN_WITHIN = 6.0
#: seconds beyond --stall-after in which all the others are reported
STALL_MARGIN = 4.0
#: runs of which one must be in time: what else a machine does makes a run later, never earlier
TRIES = 5
#: faults for which the launcher matters: it tells the ranks who they are before they meet, and sees how they end.
#: Another test has all under torchrun
LAUNCHED = (
    *("rank-missing-at-init", "rendezvous-unreachable", "rank-died", "exception-masked"),
    *("shape-mismatch", "dtype-mismatch"),
)
#: a deadlock that is proven, one that is not, and a rank that is slow
TIMED = ("rank-conditional-collective", "lock-wait", "slow-host-work")

KNOWN = [case for case in load_all(root()) if not case.needs]
HANGING = [case for case in KNOWN if case.harm is None]
CASES = [case for case in HANGING if not case.packages]
#: cases inside a framework, which `make test-frameworks` installs
INSIDE = [case for case in HANGING if case.packages]
#: what is not right yet, or not each time, and why
OPEN = {
    "deepspeed-conditional-expert": "ZeRO 3 fetches weights ahead, so the line is the one after the skipped expert",
}


def _param(case: Case) -> ParameterSet:
    known = [pytest.mark.xfail(reason=OPEN[case.name], strict=True)] if case.name in OPEN else []
    return pytest.param(case, id=case.name, marks=known)


by_name = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@pytest.mark.parametrize("case", [_param(case) for case in CASES])
def test_broken_gets_its_verdict(case: Case, tmp_path: Path) -> None:
    launch = torchrun if case.name in LAUNCHED else forked
    _gets_its_verdict(case, launch(case.broken, case.ranks), tmp_path)


@pytest.mark.parametrize("case", [_param(case) for case in CASES])
def test_broken_gets_its_verdict_under_torchrun(case: Case, tmp_path: Path) -> None:
    _gets_its_verdict(case, torchrun(case.broken, case.ranks), tmp_path)


@pytest.mark.frameworks
@pytest.mark.parametrize("case", [_param(case) for case in INSIDE])
def test_broken_gets_its_verdict_inside_a_framework(case: Case, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    _require(case, pytestconfig)
    _gets_its_verdict(case, launch_command(case.launcher, case.broken, case.ranks), tmp_path)


def _require(case: Case, config: pytest.Config) -> None:
    """Skips the test if a package of the case is not installed; `make test-frameworks` lets it fail."""
    if lacking := missing_packages(case):
        (pytest.fail if config.getoption("--require-frameworks") else pytest.skip)(f"{case.name} {lacking}")


def _gets_its_verdict(case: Case, command: list[str], tmp_path: Path) -> None:
    run = _watched(case, command, tmp_path)
    report = run.report
    assert report["outcome"] == case.outcome.value, run.explain()
    assert case.allows_deadlock(Deadlock(report["deadlock"])), run.explain()
    assert run.first["code"] == case.code, run.explain()
    assert run.first["culprits"] == list(case.culprits), run.explain()
    assert case.line in _lines_to_look_at(run, case), run.explain()
    if report["deadlock"] == "proven":
        assert run.status == 124, run.explain()
    assert _without_late_findings(_replayed(run.bundle), report) == _without_late_findings(report, report)
    assert wrongly_sure(bundle.read(run.bundle), case.code, tuple(case.culprits), Deadlock(report["deadlock"])) == []
    assert unsupported_in(run.bundle) == []
    assert leftovers.faults(bundle.read(run.bundle), tmp_path / "leftovers") == []


@pytest.mark.parametrize("name", TIMED)
def test_the_verdict_comes_in_time(name: str, tmp_path: Path) -> None:
    (case,) = (case for case in CASES if case.name == name)
    silences: list[float] = []
    while len(silences) < TRIES and min(silences, default=math.inf) > _limit(case):
        run = _watched(case, torchrun(case.broken, case.ranks), tmp_path / str(len(silences)))
        silences.append(_silence(run.report))
    assert min(silences) <= _limit(case), silences


def _watched(case: Case, command: list[str], folder: Path) -> Run:
    patience = [] if case.stall_after is None else ["--stall-after", str(case.stall_after)]
    return watch(
        command,
        folder,
        *("--on-hang", "stop"),
        *patience,
        timeout=STARTUP + case.seconds,
        until=lambda report: is_told(report, case.outcome.value),
    )


@by_name
def test_fixed_ends_and_is_left_alone(case: Case, tmp_path: Path) -> None:
    _is_left_alone(forked(case.fixed, case.ranks), tmp_path)


@by_name
def test_fixed_ends_and_is_left_alone_under_torchrun(case: Case, tmp_path: Path) -> None:
    _is_left_alone(torchrun(case.fixed, case.ranks), tmp_path)


@pytest.mark.frameworks
@pytest.mark.parametrize("case", INSIDE, ids=lambda case: case.name)
def test_fixed_ends_and_is_left_alone_inside_a_framework(
    case: Case, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    _require(case, pytestconfig)
    _is_left_alone(launch_command(case.launcher, case.fixed, case.ranks), tmp_path)


def _is_left_alone(command: list[str], folder: Path) -> None:
    run = watch(command, folder, "--on-hang", "stop", timeout=STARTUP + 30)
    assert run.status == 0, run.explain()
    assert all(report["outcome"] == "healthy" for report in run.reports), run.explain()
    assert not any(report["diagnoses"] for report in run.reports), run.explain()


@pytest.mark.parametrize("case", KNOWN, ids=lambda case: case.name)
def test_lint_sees_it_coming(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """What fixture.toml says of lint holds, and the cure leaves nothing to find."""
    assert _linted(case.broken, capsys) == ({case.lint} if case.lint else set())
    assert _linted(case.fixed, capsys) == set()


def _without_late_findings(report: dict[str, Any], live: dict[str, Any]) -> dict[str, Any]:
    """Without lint's findings where they came too late for the `live` report, as its note says."""
    late = UNFINISHED.format(WITHIN)
    if late not in live["notes"]:
        return report
    diagnoses = [{**diagnosis, "lint": []} for diagnosis in report["diagnoses"]]
    return {**report, "diagnoses": diagnoses, "notes": [note for note in report["notes"] if note != late]}


def _replayed(folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "ddpdoctor", "diagnose", "--json", "-", str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=STARTUP, check=False)
    assert result.returncode == 1, result.stderr
    replayed: dict[str, Any] = json.loads(result.stdout)
    return replayed


def _linted(program: Path, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """Codes of what is found; a hint is advice about code that is right."""
    main.main(["lint", "-o", "json", str(program)])
    return {finding["code"] for finding in json.loads(capsys.readouterr().out) if finding["severity"] != "hint"}


def _lines_to_look_at(run: Run, case: Case) -> set[int]:
    """The first location's line; all locations' lines if no rank is blamed and several explanations are given."""
    diagnoses = run.report["diagnoses"] if not len(case.culprits) else [run.first]
    locations = [location for diagnosis in diagnoses for location in diagnosis["locations"]]
    if len(case.culprits):
        locations = locations[:1]
    return {location["line"] for location in locations if location["file"] == str(case.broken)}


def _silence(report: dict[str, dict[str, float]]) -> float:
    """Seconds between the last movement of any page and the report."""
    timeline = report["timeline"]
    return timeline["reported"] - timeline["last_progress"]


def _limit(case: Case) -> float:
    return PROVEN_WITHIN if case.deadlock.value == "proven" else (case.stall_after or 0) + STALL_MARGIN
