"""Pure. Backtraces printed by gdb (`thread apply all py-bt`, or `bt` with Python frames) and by pystack."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ddpdoctor.archive.pyspy_text import MOST_FRAMES, MOST_THREADS, is_python
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread

_GDB_THREAD = re.compile(r"^Thread (\d{1,6}) \((?:Thread 0x[0-9a-f]+ )?\(?(?:LWP|process) (\d{1,10})\)?.*\):?")
_GDB_FIRST = re.compile(r"^Traceback \(most recent call first\):")
_GDB_FILE = re.compile(r'^\s+File "(.*)", line (\d{1,9}), in (\S+)')
#: `#7 Frame 0x7f.., for file /x/train.py, line 12, in main (..)`
_GDB_FRAME = re.compile(r"^\s*#\d+ .*Frame 0x[0-9a-f]+, for file (.+?), line (\d{1,9}), in (\S+)")
_GDB_PROCESS = re.compile(r"(?:Attaching to process|\[?Inferior 1 \(process) (\d{1,10})")
_PYSTACK_THREAD = re.compile(r"^Traceback for thread (\d{1,10}) \((.*?)\)(.*)\(most recent call last\):")
_PYSTACK_FILE = re.compile(r'^\s+(?:\((?:Python|C)\) )?File "(.*)", line (\d{1,9}), in (.+?)(?: \(.*\))?\s*$')


@dataclass(frozen=True, slots=True)
class DebuggerDump:
    """The stacks of one process."""

    pid: int | None
    stacks: Stacks


def find(lines: tuple[str, ...]) -> tuple[DebuggerDump, ...]:
    """All dumps in a text: every gdb session or pystack run whose frames name Python files."""
    return (*_gdb(lines), *_pystack(lines))


def _gdb(lines: tuple[str, ...]) -> tuple[DebuggerDump, ...]:
    found: list[DebuggerDump] = []
    threads: dict[tuple[str, int], list[Site]] = {}
    pid: int | None = None
    thread: tuple[str, int] | None = None
    inside = False

    def close() -> None:
        if any(threads.values()):
            found.append(DebuggerDump(pid, _stacks(threads, pid)))
        threads.clear()

    for line in lines:
        if process := _GDB_PROCESS.search(line):
            if threads:
                close()
            pid, thread, inside = int(process[1]), None, False
        elif header := _GDB_THREAD.match(line):
            thread, inside = (header[1], int(header[2])), True
        elif _GDB_FIRST.match(line):
            thread, inside = thread or ("1", pid or 0), True
        elif frame := _GDB_FRAME.match(line) or (_GDB_FILE.match(line) if inside else None):
            thread = thread or ("1", pid or 0)
            kept = threads.setdefault(thread, []) if len(threads) < MOST_THREADS else []
            if is_python(frame[1]) and len(kept) < MOST_FRAMES:
                kept.append(Site(frame[1], int(frame[2]), frame[3]))
    close()
    return tuple(found)


def _stacks(threads: dict[tuple[str, int], list[Site]], pid: int | None) -> Stacks:
    """The main thread is the one whose id is the process id, or else gdb's thread 1."""
    main = next((key for key in threads if key[1] == pid), None) or next(
        (key for key in threads if key[0] == "1"), None
    )
    return Stacks(
        StackSource.DEBUGGER,
        tuple(
            Thread(os_id, "MainThread" if (number, os_id) == main else f"thread {number}", tuple(frames))
            for (number, os_id), frames in threads.items()
        ),
    )


def _pystack(lines: tuple[str, ...]) -> tuple[DebuggerDump, ...]:
    """pystack prints the outermost frame first and marks native frames with `(C)`."""
    threads = _pystack_threads(lines)
    if not any(frames for _, frames, _ in threads):
        return ()
    first = min(os_id for os_id, _, _ in threads)
    stacks = tuple(
        Thread(os_id, "MainThread" if os_id == first else f"thread {os_id}", tuple(frames), owns_gil=Observed.of(gil))
        for os_id, frames, gil in threads
    )
    return (DebuggerDump(first, Stacks(StackSource.DEBUGGER, stacks)),)


def _pystack_threads(lines: tuple[str, ...]) -> list[tuple[int, list[Site], bool]]:
    """Id, frames (innermost first) and ownership of the GIL of each thread."""
    threads: list[tuple[int, list[Site], bool]] = []
    inside = False
    for line in lines:
        if header := _PYSTACK_THREAD.match(line):
            inside = len(threads) < MOST_THREADS
            if inside:
                threads.append((int(header[1]), [], "Has the GIL" in header[3]))
        elif inside and (frame := _PYSTACK_FILE.match(line)):
            if is_python(frame[1]) and len(threads[-1][1]) < MOST_FRAMES:
                threads[-1][1].insert(0, Site(frame[1], int(frame[2]), frame[3]))
        elif line.strip() and not line[:1].isspace():
            inside = False
    return threads
