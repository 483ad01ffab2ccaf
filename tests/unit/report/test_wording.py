"""Sentences that the terminal, Markdown and HTML share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.model.diagnosis import Confidence, Outcome, Retry
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.waited import Straggler, Waited
from ddpdoctor.report import markdown, terminal
from ddpdoctor.report.html import verdict
from ddpdoctor.report.terminal_text import Screen
from ddpdoctor.report.wording import again_in_words, waited_in_words
from tests.golden.reports import REPORTS

(CERTAIN,) = REPORTS["hang-certain"].diagnoses


@pytest.mark.parametrize("retry", [Retry.FAILS_AGAIN, Retry.MAY_PASS, Retry.PASSES_ELSEWHERE])
def test_running_again_is_said_as_surely_as_the_diagnosis(retry: Retry) -> None:
    assert again_in_words(Outcome.HANG, replace(CERTAIN, retry=retry)) == f"the same job {retry.value}"
    guess = replace(CERTAIN, retry=retry, confidence=Confidence.POSSIBLE)
    assert again_in_words(Outcome.HANG, guess) == f"if so, the same job {retry.value}"


def test_who_is_waited_for_is_said_as_it_was_measured() -> None:
    late = Straggler(Rank(3), "", "backward", 212, 300, 0.041, "loading data")
    waited = Waited(0.14, 60.0, 300, (late,))
    assert waited_in_words(waited) == (
        "ranks waited 14 % of the time: for rank 3 in 212 of 300 times backward, 41 ms each, loading data"
    )
    assert waited_in_words(replace(waited, device=True)) == (
        "the host does not wait for the device; the longest steps of the hosts: rank 3 in 212 of 300 times backward, "
        "41 ms more, loading data"
    )
    assert waited_in_words(replace(waited, stragglers=())) == ""


def test_nothing_is_said_where_it_is_not_known() -> None:
    assert again_in_words(Outcome.HANG, replace(CERTAIN, retry=Retry.UNKNOWN)) == ""
    assert again_in_words(Outcome.SLOW, CERTAIN) == ""


def test_every_form_says_it() -> None:
    report = REPORTS["hang-certain"]
    for text in (terminal.render(report, Screen(200)), markdown.render(report), verdict.section(report, "")):
        assert "deadlock proven; the same job fails again" in text
