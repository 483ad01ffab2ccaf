"""What was seen of a job while it moved, told with the verdict of a look."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ddpdoctor.collect import bundle
from ddpdoctor.collect.assemble import assemble
from ddpdoctor.collect.capture import Capture, Sample
from ddpdoctor.diagnose import codes, engine
from ddpdoctor.diagnose.course import NO_PROOF, NOT_ARRIVED, with_course
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.likeliest import NAMED
from ddpdoctor.model.course import Course
from ddpdoctor.model.desync import Desync
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.early_sign import EarlySign
from ddpdoctor.model.evidence import Evidence, SourceFile, Timing
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.report import Report
from ddpdoctor.model.stacks import Site
from ddpdoctor.model.waited import Waited

DESYNC = Desync(
    RankSet.of([1]), RankSet.of([0, 1, 2]), "the default group", -1, None, 32, 14.2, "rank 1 skipped a batch"
)
WARNING = diagnosis(
    codes.SKIPPED_BATCH,
    RankSet(),
    confidence=Confidence.LIKELY,
    culprits=RankSet.of([1]),
    summary="s",
    why="w",
    fix="f",
)
COURSE = Course(DESYNC, WARNING, waited=Waited(0.1, 20.0, 300))
AT_HANG = replace(COURSE, hangs=True)


@pytest.fixture
def healthy() -> Report:
    return engine.examine(Evidence(0, (), Timing(0.0, 0.0, 0.0, 0.0)))


@pytest.mark.parametrize("outcome", [Outcome.HANG, Outcome.CRASH])
def test_a_hang_says_since_when_and_says_it_once(healthy: Report, outcome: Outcome) -> None:
    hang = replace(healthy, outcome=outcome)
    told = with_course(hang, replace(COURSE, warning=None), {})
    assert told.notes == ("a desync began 14 s after the start: rank 1 skipped a batch",)
    assert (told.desync, told.waited, told.diagnoses) == (DESYNC, COURSE.waited, hang.diagnoses)
    assert with_course(told, replace(COURSE, warning=None), {}) == told


UNDECIDED = diagnosis(
    codes.UNDECIDED,
    RankSet.of([0, 1, 2]),
    confidence=Confidence.POSSIBLE,
    culprits=RankSet.of([1]),
    summary="two stories",
    why="w",
    fix="f",
)


#: only where the ranks stand speaks for it
BY_PLACES = replace(UNDECIDED, code="DD210", name="data-dependent-graph", why=f"w {NAMED}")


@pytest.mark.parametrize("looked", [UNDECIDED, BY_PLACES])
def test_a_hang_that_is_not_decided_has_the_cause_of_the_warning(healthy: Report, looked: Diagnosis) -> None:
    hang = replace(healthy, outcome=Outcome.HANG, diagnoses=(looked,))
    told = with_course(hang, AT_HANG, {})
    (first,) = told.diagnoses
    assert (first.code, first.confidence, first.summary) == ("DD207", Confidence.LIKELY, "s")
    assert (first.culprits, first.waiting) == (UNDECIDED.culprits, UNDECIDED.waiting)
    assert first.culprit_confidence is Confidence.POSSIBLE
    assert with_course(told, AT_HANG, {}) == told


SIGN = EarlySign(
    "DD201", RankSet.of([1]), Site("t.py", 3, "main"), 4.0, 5.0, "the loader at t.py:3 differs", "it is cut"
)


def test_a_hang_that_is_not_decided_has_the_cause_of_an_early_sign(healthy: Report) -> None:
    source = {"t.py": SourceFile("t.py", "for batch in loader:", first=3)}
    hang = replace(healthy, outcome=Outcome.HANG, diagnoses=(UNDECIDED,))
    told = with_course(hang, Course(signs=(SIGN,)), source)
    (first,) = told.diagnoses
    assert (first.code, first.confidence, first.summary) == ("DD201", Confidence.LIKELY, SIGN.said)
    assert (first.culprits, first.culprit_confidence) == (UNDECIDED.culprits, Confidence.POSSIBLE)
    assert [(place.file, place.line) for place in first.locations] == [("t.py", 3)]
    assert told.code == source
    assert told.notes == (
        "early sign since 4.0 s, told 5.0 s after the start: the loader at t.py:3 differs: unless it is cut, they will "
        "wait for each other for ever at the end",
    )
    others = replace(SIGN, culprits=RankSet.of([2]))
    assert with_course(hang, Course(signs=(others,)), {}).diagnoses == (UNDECIDED,)


def test_a_hang_that_blames_nobody_and_decides_nothing_has_the_whole_story(healthy: Report) -> None:
    nobody = replace(UNDECIDED, culprits=RankSet(), waiting=RankSet.of([0, 1, 2]))
    hang = replace(healthy, outcome=Outcome.HANG, diagnoses=(nobody,))
    (first,) = with_course(hang, AT_HANG, {}).diagnoses
    assert (first.code, first.culprits, first.waiting) == ("DD207", RankSet.of([1]), RankSet.of([0, 2]))
    assert first.culprit_confidence is Confidence.POSSIBLE


def test_whoever_had_shifted_is_to_blame_where_the_hang_blames_nobody(healthy: Report) -> None:
    nobody = replace(UNDECIDED, code="DD218", culprits=RankSet(), waiting=RankSet.of([0, 1, 2]))
    hang = replace(healthy, outcome=Outcome.HANG, diagnoses=(nobody,))
    (first,) = with_course(hang, AT_HANG, {}).diagnoses
    assert (first.code, first.culprits, first.culprit_confidence) == ("DD218", RankSet.of([1]), Confidence.POSSIBLE)
    assert first.waiting == RankSet.of([0, 2])


def test_no_rank_is_to_blame_for_the_order_in_which_threads_stand(healthy: Report) -> None:
    disorder = replace(WARNING, code="DD222", culprits=RankSet())
    cycle = replace(UNDECIDED, code="DD220", waiting=RankSet.of([0, 2]))
    hang = replace(healthy, outcome=Outcome.HANG, diagnoses=(cycle,))
    (first,) = with_course(hang, replace(AT_HANG, warning=disorder), {}).diagnoses
    assert (first.code, first.culprits, first.waiting) == ("DD220", RankSet(), RankSet.of([0, 1, 2]))


def test_a_warning_about_others_leaves_a_hang_as_it_is(healthy: Report) -> None:
    other = replace(UNDECIDED, culprits=RankSet.of([2]))
    decided = replace(WARNING, code="DD203", name="rank-conditional-collective")
    for first in (other, decided):
        hang = replace(healthy, outcome=Outcome.HANG, diagnoses=(first,))
        assert with_course(hang, AT_HANG, {}).diagnoses == (first,)


SLOW = diagnosis(
    codes.SLOW_CHECKPOINT,
    RankSet.of([1, 2]),
    confidence=Confidence.LIKELY,
    culprits=RankSet.of([0]),
    summary="rank 0 still writes",
    why="w",
    fix="f",
)


def _died(rank: int, sure: Confidence) -> Diagnosis:
    return diagnosis(
        codes.RANK_DIED,
        RankSet(),
        confidence=sure,
        culprits=RankSet.of([rank]),
        summary="it gave up",
        why="w",
        fix="f",
    )


@pytest.mark.parametrize(
    ("rank", "sure", "code"),
    [
        (1, Confidence.POSSIBLE, "DD232"),
        (1, Confidence.LIKELY, "DD251"),  # it has a failure of its own
        (0, Confidence.POSSIBLE, "DD251"),  # the slow one itself
    ],
)
def test_ranks_that_gave_up_waiting_for_a_slow_one(healthy: Report, rank: int, sure: Confidence, code: str) -> None:
    crash = replace(healthy, outcome=Outcome.CRASH, diagnoses=(_died(rank, sure), UNDECIDED))
    told = with_course(crash, Course(slow=SLOW), {})
    assert (told.outcome, told.diagnoses[0].code) == (Outcome.CRASH, code)
    assert (NOT_ARRIVED in told.notes) is (code == "DD232")
    assert with_course(told, Course(slow=SLOW), {}) == told


def test_a_look_taken_for_the_warning_shows_it(healthy: Report) -> None:
    told = with_course(healthy, COURSE, {})
    assert (told.outcome, told.diagnoses, told.notes) == (Outcome.DESYNC, (WARNING,), (NO_PROOF,))


def test_the_one_sample_of_a_warning_is_no_hang_and_a_hang_is_no_warning(healthy: Report) -> None:
    hang = replace(healthy, outcome=Outcome.HANG)
    assert with_course(hang, COURSE, {}).outcome is Outcome.DESYNC
    assert with_course(hang, AT_HANG, {}).outcome is Outcome.HANG


def test_without_a_shift_nothing_is_added(healthy: Report) -> None:
    assert with_course(healthy, Course(), {}) == healthy


def test_a_bundle_keeps_the_course(tmp_path: Path) -> None:
    capture = Capture((Sample(1.0, (), (), (), ()),), Timing(0.0, 0.0, 0.0, 0.0), course=COURSE)
    bundle.write(tmp_path / "kept", capture)
    read = bundle.read(tmp_path / "kept")
    assert read.course == COURSE
    assert engine.examine(assemble(read)).outcome is Outcome.DESYNC


def test_a_bundle_of_before_has_none(tmp_path: Path) -> None:
    bundle.write(tmp_path / "kept", Capture((Sample(1.0, (), (), (), ()),), Timing(0.0, 0.0, 0.0, 0.0), course=COURSE))
    path = tmp_path / "kept" / bundle.MANIFEST
    manifest = json.loads(path.read_text())
    del manifest["course"]
    path.write_text(json.dumps(manifest))
    assert bundle.read(tmp_path / "kept").course == Course()
