"""The probe's copy of the table of frameworks' meetings."""

from __future__ import annotations

from ddpdoctor.model.framework_meetings import MEETINGS
from ddpdoctor.probe import framework_meetings


def test_the_probe_has_the_same_rows() -> None:
    assert [tuple(row) for row in framework_meetings.MEETINGS] == [tuple(row) for row in MEETINGS.values()]
