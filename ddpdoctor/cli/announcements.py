"""Impure. Whom `watch` tells what it has found, beside the terminal: an address, a metrics file, the platform.

One message for each incident and one when it is over; a failure is said once and touches nothing else.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from ddpdoctor.cli import forms
from ddpdoctor.cli.console import Console
from ddpdoctor.config import WatchConfig
from ddpdoctor.model.diagnosis import Outcome
from ddpdoctor.model.report import Report
from ddpdoctor.notify import message, metrics, places
from ddpdoctor.observe.watcher import Seen

#: seconds between two versions of the metrics file; Prometheus asks every 15 to 60
_EVERY = 5.0
_TOLD = frozenset({Outcome.DESYNC, Outcome.HANG, Outcome.CRASH})


class Announcements:
    """Follows the incidents of one job."""

    def __init__(self, config: WatchConfig, console: Console, environ: Mapping[str, str] = os.environ) -> None:
        self._console = console
        self._environ = environ
        self._metrics = config.metrics_file
        self._webhook = None
        if config.notify_url:
            from ddpdoctor.notify.webhook import Webhook

            self._webhook = Webhook(config.notify_url, console.say)
        self._standing: Report | None = None
        self._incidents = 0
        self._next = 0.0
        self._failed: set[str] = set()

    def incident(self, report: Report, bundle: Path | None) -> None:
        """A verdict was shown. One that names the same as the incident that stands is no news."""
        if report.outcome not in _TOLD or (self._standing and _gist(report) == _gist(self._standing)):
            return
        self._standing = report
        self._incidents += 1
        self._next = 0.0
        if self._webhook is not None:
            self._webhook.send(message.incident(report, evidence=str(bundle) if bundle else ""))
        try:
            places.write_termination_log(report, self._environ)
            places.append_job_summary(report, self._environ, directory=str(Path.cwd()))
        except Exception as error:  # noqa: BLE001 - boundary: a platform's file is not worth a verdict
            self._say_once("the platform's summary", error)

    def recovered(self, said: str) -> None:
        """The job goes on."""
        if self._standing is not None and self._webhook is not None:
            self._webhook.send(message.recovery(self._standing, said))
        self._standing = None
        self._next = 0.0

    def due(self) -> bool:
        """Whether it is time for a new version of the metrics."""
        return self._metrics is not None and time.monotonic() >= self._next

    def update(self, seen: Seen | None, *, stalled: bool, status: int | None = None) -> None:
        """Write the metrics; `status` ends the job."""
        if self._metrics is None:
            return
        self._next = time.monotonic() + _EVERY
        ranks, steps = (seen.ranks, seen.steps) if seen else (0, 0)
        state = metrics.JobState(
            time.time(), status is None, ranks, steps, stalled, self._incidents, self._standing, status
        )
        try:
            forms.replace(self._metrics, metrics.render(state))
        except OSError as error:
            self._say_once(str(self._metrics), error)

    def close(self) -> None:
        """Let the last messages go out, for a few seconds at most."""
        if self._webhook is not None:
            self._webhook.close()

    def _say_once(self, what: str, error: Exception) -> None:
        if what not in self._failed:
            self._failed.add(what)
            self._console.say(f"cannot write {what} ({type(error).__name__}: {error})")


def _gist(report: Report) -> object:
    return report.outcome, [(diagnosis.code, diagnosis.culprits) for diagnosis in report.diagnoses[:1]]
