"""The foreground process group of the controlling terminal, which may read it and receives its signals."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def _terminal() -> Iterator[int]:
    """The controlling terminal, whatever stdin is. Raises OSError if there is none."""
    descriptor = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def foreground() -> int | None:
    """The foreground process group; None without a terminal."""
    try:
        with _terminal() as descriptor:
            return os.tcgetpgrp(descriptor)
    except OSError:
        return None


def give_foreground_to(group: int) -> None:
    """Make `group` the foreground. tcsetpgrp(3) stops a caller in the background unless it blocks SIGTTOU."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        with contextlib.suppress(OSError), _terminal() as descriptor:
            os.tcsetpgrp(descriptor, group)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTTOU})


def stop_ourselves() -> None:
    """Stop as a program does on Ctrl-Z, and return when a shell continues us.

    The kernel ignores this stop if no shell could end it (an orphaned process group); then it returns at once.
    """
    previous = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    try:
        os.kill(os.getpid(), signal.SIGTSTP)
    finally:
        signal.signal(signal.SIGTSTP, previous)
