"""Impure. What `watch` says: few lines, on stderr, prefixed, and never an error of its own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from ddpdoctor.cli import options
from ddpdoctor.config import WatchConfig
from ddpdoctor.model.report import Report

#: set for the probe, and told by "probe on"
_UNSAID = frozenset({"PYTHONPATH", "DDPDOCTOR_RUN", "DDPDOCTOR_WATCH_PID", "DDPDOCTOR_GROUP_TIMEOUT"})


class Console:
    """Our side of the terminal that the job also writes to; one write a message, so that lines stay whole."""

    def __init__(self, stream: TextIO, environ: Mapping[str, str], *, quiet: bool) -> None:
        self._stream = stream
        self._environ = environ
        self._quiet = quiet
        self._lock = threading.Lock()

    def say(self, text: str) -> None:
        """One line of our own."""
        self._write("".join(f"ddpdoctor: {line}\n" for line in text.splitlines()))

    def mention(self, text: str) -> None:
        """A line that --quiet drops."""
        if not self._quiet:
            self.say(text)

    def show(self, text: str) -> None:
        """Something drawn elsewhere, as it is."""
        self._write(text if text.endswith("\n") else f"{text}\n")

    def started(self, config: WatchConfig, torch: str | None, planned: Mapping[str, str]) -> None:
        """The start line: what was set, and which timeout holds."""
        version = f"torch {torch}" if torch else "torch of unknown version"
        if config.group_timeout:
            timeout = f"{config.group_timeout:g} s unless the script sets one (--nccl-timeout)"
        else:
            timeout = "torch's default (NCCL 10 min, others 30 min)"
        stall = f"{config.stall_after:g} s" if config.stall_after else "auto"
        extra = [f"{name}={value}" for name, value in planned.items() if name not in _UNSAID]
        said = [version, self._probe(torch, planned), f"stall after {stall}", f"group timeout {timeout}"]
        if self._stream.isatty():
            said.append("Ctrl-\\ inspects now")
        self.mention(f"watching ({', '.join(said)})" + (f"; set {' '.join(extra)}" if extra else ""))

    def _probe(self, torch: str | None, planned: Mapping[str, str]) -> str:
        """Is the probe on? torch loads it from 2.5 on, unless its plug-ins are turned off."""
        if "DDPDOCTOR_RUN" not in planned:
            return "no probe"
        if self._environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0":
            return "no probe: TORCH_DEVICE_BACKEND_AUTOLOAD=0 turns it off"
        release = [int(part) for part in (torch or "").split(".")[:2] if part.isdigit()]
        return "no probe: it needs torch 2.5" if release and release < [2, 5] else "probe on"

    def report(self, report: Report, *, job: str, bundle: Path | None) -> None:
        """The verdict's screen."""
        from ddpdoctor.report import terminal

        screen = options.screen(self._stream, self._environ)
        self._write(
            terminal.render(
                report,
                width=screen.width,
                color=screen.color,
                unicode=screen.unicode,
                job=job,
                bundle=str(bundle) if bundle else "",
                directory=_here(),
            )
        )

    def _write(self, text: str) -> None:
        # a closed or full stderr is nobody's loss, least of all the job's
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()


def _here() -> str:
    """The working directory, "" where it has been removed under us."""
    try:
        return str(Path.cwd())
    except OSError:
        return ""
