"""What counts as the expected verdict, and what does not."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from ddpdoctor.model.diagnosis import Deadlock, Outcome
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.report import Timeline
from ddpdoctor.repro import expectations
from ddpdoctor.repro.case import Case, Harm
from ddpdoctor.repro.expectations import PlainRun
from tests.golden.reports import TRAIN, hang_certain, hang_undecided, healthy

CASE = Case(
    name="vision",
    code="DD203",
    summary="",
    folder=Path(TRAIN).parent,
    ranks=8,
    culprits=RankSet.of([0]),
    line=72,
    deadlock=Deadlock.PROVEN,
    sometimes_proven=False,
    outcome=Outcome.HANG,
    launcher="torchrun",
    lint="",
    stall_after=None,
    needs="",
    seconds=40,
)
DIAGNOSIS = hang_certain().diagnoses[0]
HERE = dataclasses.replace(DIAGNOSIS.locations[0], file=str(CASE.broken))
REPORT = dataclasses.replace(hang_certain(), diagnoses=(dataclasses.replace(DIAGNOSIS, locations=(HERE,)),))


def _wrong(checks: tuple[expectations.Check, ...]) -> list[str]:
    return [check.what for check in checks if not check.passed]


def test_the_expected_verdict_passes() -> None:
    assert _wrong(expectations.of_broken(CASE, 8, REPORT, 124)) == []


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"culprits": RankSet.of([1])}, "culprits"),
        ({"code": "DD299"}, "code"),
        ({"locations": (dataclasses.replace(HERE, line=88), HERE)}, "line"),
        ({"locations": (dataclasses.replace(HERE, file="/elsewhere/broken.py"),)}, "line"),
        ({"locations": ()}, "line"),
    ],
)
def test_a_wrong_diagnosis_is_seen(change: dict[str, object], wrong: str) -> None:
    first = dataclasses.replace(REPORT.diagnoses[0], **change)  # type: ignore[arg-type]
    assert _wrong(expectations.of_broken(CASE, 8, dataclasses.replace(REPORT, diagnoses=(first,)), 124)) == [wrong]


def test_a_proof_is_right_only_where_it_may_come() -> None:
    suspected = dataclasses.replace(CASE, deadlock=Deadlock.SUSPECTED)
    assert _wrong(expectations.of_broken(suspected, 8, REPORT, 124)) == ["deadlock"]
    either = dataclasses.replace(suspected, sometimes_proven=True)
    assert _wrong(expectations.of_broken(either, 8, REPORT, 124)) == []


def test_a_late_verdict_is_seen_and_patience_is_allowed_where_it_is_asked_for() -> None:
    late = dataclasses.replace(REPORT, timeline=Timeline(10.0, 18.0, 21.0))
    assert _wrong(expectations.of_broken(CASE, 8, late, 124)) == ["time"]
    patient = dataclasses.replace(CASE, deadlock=Deadlock.SUSPECTED, stall_after=10)
    assert _wrong(expectations.of_broken(patient, 8, dataclasses.replace(late, deadlock=Deadlock.SUSPECTED), 124)) == []


def test_no_report_and_no_stop_are_failures() -> None:
    assert _wrong(expectations.of_broken(CASE, 8, None, 0)) == ["report"]
    assert _wrong(expectations.of_broken(CASE, 8, REPORT, 1)) == ["status"]
    assert set(_wrong(expectations.of_broken(CASE, 8, healthy(), 0))) >= {"outcome", "code", "line", "status"}


def test_other_numbers_of_ranks_have_other_culprits() -> None:
    first = dataclasses.replace(REPORT.diagnoses[0], culprits=RankSet.of([3]))
    assert _wrong(expectations.of_broken(CASE, 4, dataclasses.replace(REPORT, diagnoses=(first,)), 124)) == []


def test_where_nobody_is_to_blame_any_of_the_stories_may_name_the_line() -> None:
    undecided = hang_undecided()
    second = dataclasses.replace(undecided.diagnoses[0].locations[1], file=str(CASE.broken))
    told = dataclasses.replace(undecided.diagnoses[0], locations=(undecided.diagnoses[0].locations[0], second))
    case = dataclasses.replace(CASE, code="DD299", culprits=RankSet(), line=88, ranks=2)
    assert _wrong(expectations.of_broken(case, 2, dataclasses.replace(undecided, diagnoses=(told,)), 124)) == []


def test_a_cure_is_healthy_and_ends_by_itself() -> None:
    assert _wrong(expectations.of_fixed(healthy(), 0)) == []
    assert _wrong(expectations.of_fixed(None, 0)) == []
    assert _wrong(expectations.of_fixed(REPORT, 124)) == ["status", "outcome", "code"]
    assert _wrong(expectations.of_fixed(None, None)) == ["status"]


HARM = Harm("samples seen", harmed=(1, 7), cured=(8, 8), fails=False)
HARMFUL = dataclasses.replace(CASE, code="DD133", lint="DD133", ranks=2, outcome=Outcome.HEALTHY, harm=HARM)


def _of_harm(output: str, status: int | None = 0, codes: tuple[str, ...] = ("DD133",), *, ranks: int = 2) -> list[str]:
    return _wrong(expectations.of_harm(HARMFUL, HARM, PlainRun(ranks, False, output, status, frozenset(codes))))


def test_harm_is_shown_by_the_last_number_that_the_program_prints() -> None:
    assert _of_harm("samples seen: 8\n[0] epoch 1: samples seen: 6 of 8\n") == []
    assert _of_harm("samples seen: 8 of 8\n") == ["number"]
    assert _of_harm("Traceback (most recent call last):\n", 1) == ["number", "status"]
    assert _of_harm("samples seen: 6\n", None) == ["status"]
    assert _of_harm("samples seen: 6\n", codes=()) == ["lint"]
    assert _of_harm("samples seen: 6\n", codes=("DD133", "DD101")) == ["lint"]


def test_how_large_the_harm_is_depends_on_the_number_of_ranks() -> None:
    assert _of_harm("samples seen: 12\n", ranks=4) == []
    assert _of_harm("nothing\n", ranks=4) == ["number"]


def test_a_harm_that_ends_with_an_error_and_its_cure() -> None:
    failing = dataclasses.replace(HARM, fails=True)
    assert (
        _wrong(expectations.of_harm(HARMFUL, failing, PlainRun(2, False, "samples seen: 6", 1, frozenset({"DD133"}))))
        == []
    )
    assert _wrong(expectations.of_harm(HARMFUL, failing, PlainRun(2, True, "samples seen: 8", 0, frozenset()))) == []
    assert _wrong(
        expectations.of_harm(HARMFUL, HARM, PlainRun(2, True, "samples seen: 6", 0, frozenset({"DD133"})))
    ) == [
        "number",
        "lint",
    ]
