"""Impure. Rows at the foot of the terminal in which the job does not write, for what `watch` shows of it meanwhile.

The job writes to the terminal itself, at any moment and past us, so a line among its own would be overwritten in part
and scrolled away in pieces. The rows stand outside of the terminal's scrolling region instead: whatever a program
prints moves and scrolls above them. Our writes put the cursor, its colour and its state back where they were, and each
is one write, which the kernel does not mix with others. When the rows are given up, the region is the whole screen
again; a shell that waits for our end does that if we are killed.

The job's bytes, its streams and its size of the terminal are untouched. A program that draws on the whole screen by
itself (an editor) may draw over the rows; they are given up while it, or a shell, has the terminal. tmux forgets with
the cursor that a row was full: what a program adds to such a row, in another write, replaces its last character there.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
from collections.abc import Mapping, Sequence
from typing import TextIO

from ddpdoctor.launch import foreground

#: terminals that keep what scrolls out of such a region at the top in their history, by the beginning of TERM. GNU
#: screen and the Linux console do not.
_TERMINALS = (
    "alacritty",
    "foot",
    "ghostty",
    "kitty",
    "konsole",
    "rxvt",
    "st-",
    "tmux",
    "vte",
    "wezterm",
    "xterm",
)
#: the smallest terminal that has room to spare
FEWEST_ROWS, FEWEST_COLUMNS = 12, 40

_SAVE, _RESTORE = "\x1b7", "\x1b8"


def usable(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether the stream is our controlling terminal and of a kind that is known to have such rows."""
    name = environ.get("TERM", "")
    known = name.startswith(_TERMINALS) or (name.startswith("screen") and "TMUX" in environ)
    return known and stream.isatty() and foreground.foreground() is not None


class TerminalStrip:
    """`count` rows at the foot of a terminal. Never raises; what cannot be shown is not shown."""

    def __init__(self, stream: TextIO, count: int) -> None:
        self._stream = stream
        self._count = count
        #: columns and rows of the terminal while the rows are ours
        self._size: os.terminal_size | None = None
        self._shown: tuple[str, ...] = ()
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def columns(self) -> int:
        """Columns that a row may use, 0 while there are no rows. The last one is left free, where text wraps."""
        return self._size.columns - 1 if self._size else 0

    def prepare(self) -> None:
        """Take the rows if the terminal is ours alone to draw on, and follow its size; give them up if it is not."""
        with contextlib.suppress(OSError, ValueError):
            size = os.get_terminal_size(self._stream.fileno())
            if foreground.foreground() != os.getpgrp() or size.lines < FEWEST_ROWS or size.columns < FEWEST_COLUMNS:
                self.close()
            elif self._size != size and _writable(self._stream):
                self._write(_taken(self._count, size.lines, again=self._size is not None))
                self._size, self._shown = size, ()
                self._start_guard()

    def show(self, rows: Sequence[str]) -> None:
        """Draw the rows, unless they are shown already. A terminal that takes nothing (Ctrl-S) is left alone."""
        drawn = tuple(rows[: self._count])
        with contextlib.suppress(OSError, ValueError):
            if self._size is not None and drawn != self._shown and _writable(self._stream):
                self._write(_drawn((*drawn, *[""] * (self._count - len(drawn))), self._size.lines))
                self._shown = drawn

    def close(self) -> None:
        """Give the rows up; nothing of them remains."""
        if self._size is None:
            return
        self._size, self._shown = None, ()
        with contextlib.suppress(OSError, ValueError):
            if _writable(self._stream):
                self._write(_given_up(self._count))
                self._end_guard(b"\n")
                return
        self._end_guard(b"")

    def _write(self, text: str) -> None:
        self._stream.flush()
        os.write(self._stream.fileno(), text.encode(self._stream.encoding or "ascii", "replace"))

    def _start_guard(self) -> None:
        """A shell that gives the rows up if our end of its pipe is closed before it was told that we did."""
        if self._guard is not None:
            return
        text = _given_up(self._count).replace("\x1b", "\\033")
        with contextlib.suppress(OSError):
            self._guard = subprocess.Popen(
                ["/bin/sh", "-c", f"trap '' HUP INT QUIT TERM; read -r told || printf '{text}'"],
                stdin=subprocess.PIPE,
                stdout=self._stream.fileno(),
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def _end_guard(self, told: bytes) -> None:
        guard, self._guard = self._guard, None
        if guard is None or guard.stdin is None:
            return
        with contextlib.suppress(OSError):
            guard.stdin.write(told)
            guard.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            guard.wait(1.0)


def _writable(stream: TextIO) -> bool:
    """Whether a write would not wait: the terminal's output may be stopped by its user."""
    return bool(select.select([], [stream.fileno()], [], 0)[1])


def _taken(count: int, lines: int, *, again: bool) -> str:
    """Rows are made below the cursor, by scrolling if it is too low, and all above them becomes the region.

    `again`: the terminal has another size. It has forgotten the region, and the rows are somewhere below the cursor.
    """
    whole = f"{_SAVE}\x1b[r{_RESTORE}" if again else ""
    room = "\x1bD" * count + f"\x1b[{count}A"
    cleared = f"{_SAVE}\x1b[B\r\x1b[0m\x1b[J{_RESTORE}" if again else ""
    return f"{whole}{room}{cleared}{_SAVE}\x1b[1;{lines - count}r{_RESTORE}"


def _drawn(rows: Sequence[str], lines: int) -> str:
    first = lines - len(rows) + 1
    placed = "".join(f"\x1b[{first + i};1H\x1b[0m{row}\x1b[0m\x1b[K" for i, row in enumerate(rows))
    return f"{_SAVE}{placed}{_RESTORE}"


def _given_up(count: int) -> str:
    """Without the terminal's size, which may be another one by then."""
    cleared = "\x1b[A".join(["\x1b[2K"] * count)
    return f"{_SAVE}\x1b[r\x1b[0m\x1b[999;1H{cleared}{_RESTORE}"
