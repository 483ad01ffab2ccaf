"""One message for each incident and one when it is over; metrics while the job runs and when it has ended."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from ddpdoctor.cli.announcements import Announcements
from ddpdoctor.cli.console import Console
from ddpdoctor.config import WatchConfig
from ddpdoctor.notify import webhook
from ddpdoctor.observe.watcher import Seen
from tests.golden.reports import REPORTS

SEEN = Seen(ranks=4, steps=9, group=True)


class Told:
    """Stands for the address: keeps what would be sent."""

    payloads: list[dict[str, Any]]

    def __init__(self, address: str, failed: object) -> None:
        Told.payloads = []

    def send(self, payload: dict[str, Any]) -> None:
        Told.payloads.append(payload)

    def close(self) -> None:
        return


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Announcements, Path, io.StringIO]:
    monkeypatch.setattr(webhook, "Webhook", Told)
    stream = io.StringIO()
    config = WatchConfig(("train",), metrics_file=tmp_path / "job.prom", notify_url="http://x/")
    return Announcements(config, Console(stream, {}, quiet=False), {}), tmp_path / "job.prom", stream


def test_each_incident_is_told_once_and_its_end(told: tuple[Announcements, Path, io.StringIO]) -> None:
    announcements, _, _ = told
    announcements.recovered("nothing stood")
    for name in ("healthy", "slow", "hang-certain", "hang-certain", "crash"):
        announcements.incident(REPORTS[name], None)
    announcements.recovered("the job made progress again")
    announcements.recovered("again")
    events = [(payload["ddpdoctor"]["event"], payload["ddpdoctor"]["code"]) for payload in Told.payloads]
    assert events == [("incident", "DD203"), ("incident", "DD251"), ("recovery", "DD251")]


def test_the_metrics_follow_the_job(told: tuple[Announcements, Path, io.StringIO]) -> None:
    announcements, path, stream = told
    announcements.update(SEEN, stalled=False)
    assert "ddpdoctor_steps_total 9" in path.read_text()
    assert not announcements.due(), "not yet time"
    announcements.incident(REPORTS["hang-certain"], None)
    assert announcements.due()
    announcements.update(SEEN, stalled=True)
    assert 'code="DD203"' in path.read_text()
    announcements.update(SEEN, stalled=False, status=124)
    assert "ddpdoctor_exit_status 124" in path.read_text()
    assert stream.getvalue() == ""


def test_a_file_that_cannot_be_written_is_said_once(told: tuple[Announcements, Path, io.StringIO]) -> None:
    announcements, path, stream = told
    path.mkdir()
    for _ in range(3):
        announcements.update(SEEN, stalled=False, status=0)
    assert stream.getvalue().count("cannot write") == 1
