"""A thread that writes the time once a second. It needs the GIL on purpose: while the GIL is held or the process is
stopped, the heartbeat on the page stops."""

from __future__ import annotations

import _thread
import ctypes
import sys
import time

from . import exit_hooks, lock_files, state, thread_stacks
from .page import HEARTBEAT_SECONDS
from .writer import PageWriter

#: seconds without movement after which exceptions being handled are looked for
STILL = 2.0
#: prctl(2)
PR_SET_NAME = 15


def start(page: PageWriter) -> None:
    """Start the heartbeat. Not a `threading.Thread`, because the job counts those, and waits for some at its exit."""
    _thread.start_new_thread(_beat, (page,))


def _beat(page: PageWriter) -> None:
    try:
        ctypes.CDLL(None).prctl(PR_SET_NAME, b"ddpdoctor", 0, 0, 0)
        stacks = thread_stacks.OfRank(page)
        while state.page is page:
            page.beat()
            time.sleep(HEARTBEAT_SECONDS)
            stacks.look()
            still = page.still() >= STILL
            exit_hooks.update_pending(page, _handled(), still, lock_files.polled_lock_files() if still else ())
            page.reap()
    except Exception:  # noqa: BLE001 - boundary: a heart that stops says so by itself; the job must not hear of it
        return


def _handled() -> list[BaseException]:
    """Exceptions that other threads are handling right now."""
    own = _thread.get_ident()
    found: list[BaseException] = []
    # CPython 3.10 and 3.11 return (type, value, traceback), later versions the exception
    for thread, entry in sys._current_exceptions().items():
        error: object = entry[1] if isinstance(entry, tuple) else entry
        if thread != own and isinstance(error, BaseException):
            found.append(error)
    return found
