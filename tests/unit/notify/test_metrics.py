"""The metrics file: what a Prometheus parser reads from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.notify.metrics import JobState, render
from tests.golden.reports import REPORTS

HANG = REPORTS["hang-certain"]
RUNNING = JobState(1_700_000_000.5, True, 8, 120, True, 1, HANG)


def test_the_lines_of_a_job_that_hangs() -> None:
    samples = [line for line in render(RUNNING).splitlines() if not line.startswith("#")]
    assert samples == [
        "ddpdoctor_running 1",
        "ddpdoctor_ranks 8",
        "ddpdoctor_steps_total 120",
        "ddpdoctor_stalled 1",
        "ddpdoctor_incidents_total 1",
        'ddpdoctor_incident{outcome="hang",deadlock="proven",code="DD203",name="rank-conditional-collective",'
        'culprits="0"} 1',
        "ddpdoctor_updated_timestamp_seconds 1700000000.500",
    ]


def test_a_prometheus_parser_reads_it() -> None:
    parser = pytest.importorskip("prometheus_client.parser")
    first = replace(HANG.diagnoses[0], name='a"b\\c\nd')
    for state in (
        RUNNING,
        replace(RUNNING, standing=None, running=False, status=124),
        replace(RUNNING, standing=replace(HANG, diagnoses=(first,))),
    ):
        families = {family.name: family for family in parser.text_string_to_metric_families(render(state))}
        assert len(families) == 7 + (state.status is not None)
        assert all(family.documentation and family.type in ("gauge", "counter") for family in families.values())
        (incident,) = families["ddpdoctor_incident"].samples
        assert incident.value == float(state.standing is not None)
        if state.standing is not None:
            assert incident.labels["name"] == state.standing.diagnoses[0].name
