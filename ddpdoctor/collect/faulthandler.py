"""What Python's faulthandler wrote of a fatal signal (SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL)."""

from __future__ import annotations

import re
from pathlib import Path

from ddpdoctor.collect.redact import plain
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread

MOST_BYTES = 1 << 20

_THREAD = re.compile(r"^(Current thread|Thread) 0x([0-9a-f]+)(?: \[([^\]]*)\])? \(most recent call first\):")
#: CPython's traceback.c stops after 100 threads
_MORE_THREADS = "..."
_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.+)$')


def fetch(path: Path) -> bytes:
    """The file's bytes, empty where it is not there: a process that has met no fatal signal has written nothing."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES)
    except OSError:
        return b""


def parse(data: bytes) -> Stacks | None:
    """The threads of a faulthandler text; None where it names none.

    The crashing thread is called MainThread. Where that is none of Python's, as when a thread of gloo's aborts, it is
    the one listed last: CPython lists the newest first, and its first thread is the main one.
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
