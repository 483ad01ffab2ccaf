"""Impure. What `watch` prints: few lines, on stderr, with a prefix; never raises."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from ddpdoctor.cli import options
from ddpdoctor.config import WatchConfig
from ddpdoctor.model.report import Report

#: set for the probe, and covered by "probe on"
_COVERED = frozenset({"PYTHONPATH", "_DDPDOCTOR_RUN", "_DDPDOCTOR_WATCH_PID", "_DDPDOCTOR_GROUP_TIMEOUT"})


class Console:
    """Our output on the terminal that the job also writes to; each message is one write, so that lines are not
    mixed."""

    def __init__(self, stream: TextIO, environ: Mapping[str, str], *, quiet: bool) -> None:
        self._stream = stream
        self._environ = environ
        self._quiet = quiet
        self._lock = threading.Lock()

    def say(self, text: str) -> None:
        """Print one line of ours."""
        self._write("".join(f"ddpdoctor: {line}\n" for line in text.splitlines()))

    def say_unless_quiet(self, text: str) -> None:
        """Print a line that --quiet suppresses."""
        if not self._quiet:
            self.say(text)

    def show(self, text: str) -> None:
        """Print text that is rendered elsewhere, unchanged."""
        self._write(text if text.endswith("\n") else f"{text}\n")

    def started(self, config: WatchConfig, torch: str | None, planned: Mapping[str, str]) -> None:
        """The start line: what was set, and which timeout applies."""
        version = f"torch {torch}" if torch else "torch of unknown version"
        if config.group_timeout:
            timeout = f"{config.group_timeout:g} s unless the script sets one (--nccl-timeout)"
        else:
            timeout = "torch's default (NCCL 10 min, others 30 min)"
        stall = f"{config.stall_after:g} s" if config.stall_after else "auto"
        extra = [f"{name}={value}" for name, value in planned.items() if name not in _COVERED]
        said = [version, self._probe(torch, planned), f"stall after {stall}", f"group timeout {timeout}"]
        if self._stream.isatty():
            said.append("Ctrl-\\ inspects now")
        self.say_unless_quiet(f"watching ({', '.join(said)})" + (f"; set {' '.join(extra)}" if extra else ""))

    def _probe(self, torch: str | None, planned: Mapping[str, str]) -> str:
        """Whether the probe is on, and if not, why."""
        from ddpdoctor.launch.environment import probe_obstacle

        if "_DDPDOCTOR_RUN" not in planned:
            return "no probe"
        obstacle = probe_obstacle(torch, self._environ)
        return f"no probe: {obstacle}" if obstacle else "probe on"

    def report(self, report: Report, *, job: str, bundle: Path | None) -> None:
        """Print the verdict, apart from the job's own output by an empty line before and after it."""
        from ddpdoctor.report import terminal

        screen = options.screen(self._stream, self._environ)
        text = terminal.render(report, screen, job=job, bundle=str(bundle) if bundle else "", directory=_here())
        self._write(f"\n{text}\n")

    def _write(self, text: str) -> None:
        # if stderr is closed or full, the message is lost and nothing else happens
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()


def _here() -> str:
    """The working directory, "" if it has been removed."""
    try:
        return str(Path.cwd())
    except OSError:
        return ""
