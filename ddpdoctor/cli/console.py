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

    def started(self, config: WatchConfig, torch: str | None, planned: Mapping[str, str]) -> None:
        """The start line: what was set, and which timeout holds."""
        version = f"torch {torch}" if torch else "torch of unknown version"
        probe = "probe on" if "DDPDOCTOR_RUN" in planned else "no probe"
        timeout = f"{config.group_timeout:g} s by --nccl-timeout" if config.group_timeout else "torch's own"
        stall = f"{config.stall_after:g} s" if config.stall_after else "auto"
        self.mention(f"watching ({version}, {probe}, stall after {stall}, group timeout {timeout})")

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
                directory=str(Path.cwd()),
            )
        )

    def _write(self, text: str) -> None:
        # a closed or full stderr is nobody's loss, least of all the job's
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()
