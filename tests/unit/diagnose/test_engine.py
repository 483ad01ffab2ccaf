"""The report around the diagnoses."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Deadlock
from ddpdoctor.model.evidence import Gap, Source
from ddpdoctor.model.ranks import Rank
from tests.unit.diagnose import stories


def test_rules_without_their_sources_are_listed() -> None:
    evidence = stories.among(2, 1, stories.ran_out)
    blind = tuple(replace(seen, page=None) for seen in evidence.ranks)
    gaps = tuple(Gap(Source.PAGES, Rank(r), "the probe is off") for r in range(2))
    report = examine(replace(evidence, ranks=blind, gaps=gaps))
    assert "DD201" in report.not_considered
    assert report.deadlock is Deadlock.SUSPECTED
    assert report.gaps == gaps


def test_report_counts_seconds_from_the_start() -> None:
    timeline = examine(stories.among(2, 1, stories.ran_out)).timeline
    assert (timeline.last_progress, timeline.detected, timeline.reported) == (96.0, 99.0, 100.0)
