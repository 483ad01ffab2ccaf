"""Bundles of real runs on NCCL: every case that hangs or dies there, judged again.

They were recorded by `ddpdoctor repro` on one H200 that the ranks shared (torch 2.11, NCCL 2.31.2), so this is what
pages, recorders and stacks look like where calls return before the device is done. Paths of the machine are replaced.
"""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from ddpdoctor.archive import input_files, pipeline
from ddpdoctor.model.report import Report
from ddpdoctor.repro import catalogue, expectations

CASES = {case.name: case for case in catalogue.load_all(catalogue.root())}
#: a list, because every start of pytest asks for it, and unpacking takes a second
NAMES = tuple((Path(__file__).parent / "data" / "nccl_runs.txt").read_text(encoding="utf-8").split())


def judged(nccl_runs: Path, name: str) -> Report:
    return pipeline.diagnose(input_files.find([str(nccl_runs / name)], io.BytesIO()))


def test_most_cases_are_recorded(nccl_runs: Path) -> None:
    assert {run.name for run in nccl_runs.iterdir()} == set(NAMES)
    assert len(NAMES) == 44


@pytest.mark.parametrize("name", [name for name in NAMES if "nccl" in CASES[name].backends])
def test_the_verdict_is_the_one_that_the_case_expects(nccl_runs: Path, name: str) -> None:
    report, case = judged(nccl_runs, name), CASES[name]
    # the line is compared below: its file stands elsewhere
    checks = expectations.of_broken(case, len(report.ranks), report, None, but=(*case.nccl_differs, "line"))
    assert [check for check in checks if not check.passed] == []


@pytest.mark.parametrize("name", [name for name in NAMES if not {"line", "code"} & {*CASES[name].nccl_differs}])
def test_the_line_is_the_one_that_the_case_expects(nccl_runs: Path, name: str) -> None:
    case = CASES[name]
    first = judged(nccl_runs, name).diagnoses[0].locations[0]
    assert (first.line, Path(first.file).name) == (case.line, "broken.py")


def test_a_barrier_that_meets_a_collective_of_join_ends_a_rank_and_is_blamed_all_the_same(nccl_runs: Path) -> None:
    report = judged(nccl_runs, "join-misuse")
    first, *others = report.diagnoses
    assert (report.outcome.value, first.code, first.confidence.value, first.culprits.members) == (
        "crash",
        "DD221",
        "likely",
        (0,),
    )
    # the error of torch's that it led to is no cause by itself
    assert [(one.code, one.confidence.value) for one in others] == [("DD251", "possible")]
