"""Impure. Limits for reading untrusted files: memory, processor time, and a separate process.

The opcodes of a pickle are not counted in advance: pickletools takes eight times as long as reading does.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
from pathlib import Path

from ddpdoctor.archive.input_files import MOST_BYTES, InputFile
from ddpdoctor.workers import Lost

#: bytes of memory that a reading process may use beyond its initial size
MOST_MEMORY = 3 << 29
#: seconds of processor time per file, and per megabyte of it; a real dump takes a hundredth of that
MOST_SECONDS = 4.0
SECONDS_PER_MB = 0.25
#: assumed ratio of decompressed to compressed size
_INFLATION = 20
#: exit status of a reading process that exceeded its memory
OUT_OF_MEMORY = 77


def seconds_for(file: InputFile) -> float:
    """Processor time, in seconds, that reading a file may take."""
    try:
        size = len(file.data) if file.path is None else file.path.stat().st_size
    except OSError:
        size = 0  # reading it will report the error
    return MOST_SECONDS + SECONDS_PER_MB * min(size * (_INFLATION if file.compressed else 1), MOST_BYTES) / (1 << 20)


def why_ended(lost: Lost, file: InputFile) -> str:
    """Why the process that read this file ended, as a report states it."""
    if lost.signal == signal.SIGPROF:
        return f"refused: reading it takes more than {seconds_for(file):.0f} s of processor time"
    if lost.status == OUT_OF_MEMORY:
        return "refused: reading it needs more memory than a recorder's dump can"
    how = f"killed by signal {lost.signal}" if lost.signal else f"exit status {lost.status}"
    return f"refused: reading it ended the reading process ({how})"


def impose() -> None:
    """Limit memory, disable core files, and discard all output of this process."""
    faulthandler.disable()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * os.sysconf("SC_PAGESIZE") + MOST_MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    except (OSError, ValueError):
        pass  # a system without /proc, or one that already has a lower limit
