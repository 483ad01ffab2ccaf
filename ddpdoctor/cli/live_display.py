"""Impure. The line, or with --live the table, that `watch` shows of a running job on a terminal, and nowhere else."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, TextIO

from ddpdoctor.cli import live_view, options, terminal_strip
from ddpdoctor.cli.terminal_strip import TerminalStrip
from ddpdoctor.config import Live, WatchConfig
from ddpdoctor.report.terminal_text import Screen

if TYPE_CHECKING:
    from ddpdoctor.observe.watcher import Seen

#: rows of the table at most, and the part of the terminal that it may take
_TABLE_ROWS, _TABLE_PART = 8, 4


class LiveDisplay:
    """Use it as a context manager around the job: the rows are ours before the job writes, and given up after it."""

    def __init__(self, config: WatchConfig, stream: TextIO, environ: Mapping[str, str]) -> None:
        wanted = config.live is Live.TABLE or (config.live is Live.LINE and not config.quiet)
        self._screen = options.screen(stream, environ)
        self._started = time.monotonic()
        self._strip: TerminalStrip | None = None
        self._rows = 1
        if wanted and terminal_strip.usable(stream, environ):
            if config.live is Live.TABLE:
                self._rows = max(2, min(_TABLE_ROWS, os.get_terminal_size(stream.fileno()).lines // _TABLE_PART))
            self._strip = TerminalStrip(stream, self._rows)

    def __enter__(self) -> LiveDisplay:
        self._previous = signal.getsignal(signal.SIGWINCH)
        if self._strip is not None:
            # a handler, so that another size of the terminal is seen at once and not at the next tick
            signal.signal(signal.SIGWINCH, _wake)
            self._strip.prepare()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
        signal.signal(signal.SIGWINCH, self._previous)

    def tick(self, look: Callable[[], Seen | None] | None) -> None:
        """Show what `look` gives now; nothing of a job that is not watched any more. Nobody looks for a display that is
        not shown."""
        if self._strip is None:
            return
        seen = look() if look is not None else None
        if seen is None:
            self._strip.close()
            return
        try:
            self._strip.prepare()
            self._strip.show(self._drawn(seen, time.monotonic(), self._strip.columns))
        except Exception:  # noqa: BLE001 - boundary: what is shown beside a job does not touch it
            self._strip.close()
            self._strip = None

    def _drawn(self, seen: Seen, now: float, width: int) -> list[str]:
        """The rows; none if the terminal has no room for them."""
        screen = Screen(width, self._screen.color, self._screen.unicode)
        if not width:
            return []
        if self._rows == 1:
            return [live_view.line(seen, now - self._started, now, screen)]
        return live_view.table(seen, now - self._started, now, screen, self._rows)

    def close(self) -> None:
        """Give the terminal back whole."""
        if self._strip is not None:
            self._strip.close()


def _wake(_number: int, _frame: FrameType | None) -> None:
    """The wake-up of the signal is all that is wanted."""
