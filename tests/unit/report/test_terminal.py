"""The screen: it fits the width, contains no escapes, and names what matters, whatever the report contains."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.model.diagnosis import Confidence, Deadlock, Location
from ddpdoctor.model.evidence import Gap, Source, SourceFile
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.report import RankStatus
from ddpdoctor.report.code_frame import CHANGED
from ddpdoctor.report.terminal import MOST_LINES, render
from ddpdoctor.report.terminal_text import Screen, columns
from tests.golden.reports import REPORTS, TRAIN, hang_certain

NAMES = st.sampled_from(sorted(REPORTS))
SGR = re.compile(r"\x1b\[[0-9;]*m")


@given(NAMES, st.integers(40, 220), st.booleans(), st.booleans())
def test_no_line_is_wider_than_the_terminal(name: str, width: int, color: bool, unicode: bool) -> None:
    text = render(REPORTS[name], Screen(width, color, unicode), job="job left running", bundle="/b")
    assert all(columns(SGR.sub("", line)) <= width for line in text.splitlines())
    assert text.endswith("\n")
    assert unicode or text.isascii()


@pytest.mark.parametrize("name", REPORTS)
def test_it_is_one_screen_at_a_hundred_columns(name: str) -> None:
    text = render(REPORTS[name], Screen(100), job="job left running (--on-hang=report)", bundle="/b" * 30)
    assert len(text.splitlines()) <= MOST_LINES


@given(NAMES, st.integers(40, 220))
def test_colour_changes_no_character(name: str, width: int) -> None:
    plain = render(REPORTS[name], Screen(width))
    assert SGR.sub("", render(REPORTS[name], Screen(width, color=True))) == plain


def test_a_thousand_ranks_in_forty_places_are_still_one_screen() -> None:
    base = hang_certain()
    statuses = tuple(
        RankStatus(
            Rank(r),
            "waiting",
            f"all_reduce seq {r % 40}",
            Location(RankSet.of([r]), TRAIN, 10 + r % 40, "f", "f()"),
            -1,
        )
        for r in range(1000)
    )
    lines = render(dataclasses.replace(base, ranks=statuses), Screen(100)).splitlines()
    assert len(lines) <= MOST_LINES
    assert any("more ranks in" in line for line in lines)
    assert any(line.startswith("> waiting  rank  0") for line in lines), "the culprit stays"


def test_a_source_that_changed_is_not_shown() -> None:
    text = render(REPORTS["hang-source-changed"], Screen(100))
    assert CHANGED in text
    assert "if rank == 0:\n" not in text


def test_undecided_shows_both_places() -> None:
    text = render(REPORTS["hang-undecided"], Screen(100))
    assert f"--> {TRAIN}:72" in text
    assert f"--> {TRAIN}:88" in text


def test_what_a_job_says_cannot_reach_the_terminal() -> None:
    base = hang_certain()
    evil = "\x1b[2J\x1b]0;owned\x07\u202e\r\x08evil"
    first = dataclasses.replace(base.diagnoses[0], summary=evil, why=evil, fix=evil, evidence=(evil,), traceback=evil)
    location = Location(RankSet.of([0]), f"/tmp/{evil}.py", 72, evil, evil)
    report = dataclasses.replace(
        base,
        diagnoses=(dataclasses.replace(first, locations=(location,)),),
        ranks=(RankStatus(Rank(0), evil, evil, location, -1),),
        gaps=(Gap(Source.STACKS, Rank(0), evil, evil),),
        code={location.file: SourceFile(location.file, f"{evil}\n" * 80)},
        notes=(evil,),
    )
    text = render(report, Screen(100), job=evil, bundle=evil, directory=evil)
    assert all(c == "\n" or c.isprintable() for c in text)


def test_gaps_with_the_same_reason_are_told_once() -> None:
    gaps = tuple(Gap(Source.STACKS, Rank(rank), "ptrace_scope is 2", "sudo -E") for rank in range(8))
    text = render(dataclasses.replace(hang_certain(), gaps=gaps), Screen(200))
    assert "blind  stacks of ranks 0-7: ptrace_scope is 2 (sudo -E)" in text


def test_a_report_that_names_nobody_says_what_could_not_be_considered() -> None:
    report = dataclasses.replace(hang_certain(), diagnoses=(), not_considered={"DD201": "needs pages"})
    assert "DD201: needs pages" in render(report, Screen(100))


@pytest.mark.parametrize(
    ("fact", "shown"),
    [("ranks 1-2 came late", "again. Ranks 1-2 came late."), ("train.py:9 was not run", "again. train.py:9 was")],
)
def test_evidence_begins_a_sentence_and_names_stay_as_they_are(fact: str, shown: str) -> None:
    report = hang_certain()
    first = dataclasses.replace(report.diagnoses[0], evidence=(fact,))
    text = render(dataclasses.replace(report, diagnoses=(first,), deadlock=Deadlock.NO), Screen(100))
    assert shown in text


def test_blame_that_is_less_sure_than_the_cause_names_the_ranks() -> None:
    report = hang_certain()
    first = dataclasses.replace(report.diagnoses[0], culprit_confidence=Confidence.LIKELY)
    text = render(dataclasses.replace(report, diagnoses=(first,)), Screen(100))
    assert "certain, deadlock proven, blame of rank 0 likely; the same job fails again." in text
