"""The text that Python's faulthandler wrote after a fatal signal (SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL)."""

from __future__ import annotations

import re
from pathlib import Path

from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
from ddpdoctor.probe.redact import plain

MOST_BYTES = 1 << 20

_THREAD = re.compile(r"^(Current thread|Thread) 0x([0-9a-f]+)(?: \[([^\]]*)\])? \(most recent call first\):")
#: CPython's traceback.c prints at most 100 threads
_MORE_THREADS = "..."
_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.+)$')


def fetch(path: Path) -> bytes:
    """The file's bytes; empty if there is no file, because the process met no fatal signal."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES)
    except OSError:
        return b""


def parse(data: bytes) -> Stacks | None:
    """The threads of a faulthandler text; None if it lists none.

    The crashing thread is named MainThread. If that is not a Python thread, for example a thread of gloo that aborts,
    the last listed thread is: CPython lists the newest first, and the main thread is the oldest.
    """
    threads: list[Thread] = []
    nameless = True
    name, os_id, frames = "", 0, list[Site]()
    for line in plain(data.decode(errors="replace")).splitlines():
        if found := _THREAD.match(line):
            if frames:
                threads.append(Thread(os_id, name, tuple(frames)))
            nameless = nameless and found[1] != "Current thread"
            name = "MainThread" if found[1] == "Current thread" else found[3] or f"0x{found[2]}"
            os_id, frames = int(found[2], 16), []
        elif found := _FRAME.match(line):
            frames.append(Site(found[1], int(found[2]), found[3]))
        elif line == _MORE_THREADS:
            nameless = False
    if frames:
        threads.append(Thread(os_id, "MainThread" if nameless else name, tuple(frames)))
    return Stacks(StackSource.FAULTHANDLER, tuple(threads)) if threads else None
