"""JUnit XML that a parser reads, whatever a job is called."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from ddpdoctor.report import junit
from tests.golden.reports import REPORTS
from tests.unit.report import exhibits


@pytest.mark.parametrize("name", REPORTS)
def test_one_case_which_fails_unless_the_job_is_healthy(name: str) -> None:
    report = REPORTS[name]
    root = ET.fromstring(junit.render(report))
    (case,) = root.iter("testcase")
    failures = case.findall("failure")
    assert root.get("failures") == str(len(failures)) == str(int(name != "healthy"))
    for failure in failures:
        assert failure.get("message") == " ".join(report.diagnoses[0].summary.split())
        assert report.diagnoses[0].code in (failure.text or "")


def test_what_a_job_says_is_no_markup() -> None:
    root = ET.fromstring(junit.render(exhibits.hostile().report))
    assert not list(root.iter("script"))
    assert "<script>alert(1)</script>" in (next(root.iter("failure")).get("message") or "")
