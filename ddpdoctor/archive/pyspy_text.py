"""Pure. The text output of `py-spy dump`: processes with their threads, frames innermost first."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ddpdoctor.model.observed import Observed
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
from ddpdoctor.program import libraries

MOST_THREADS = 4096
MOST_FRAMES = 512

_PROCESS = re.compile(r"^\s*Process (\d{1,10}): ?(.*)$")
#: `Thread 21 (idle): "MainThread"`, `Thread 0x7F2A (active+gil)`
_THREAD = re.compile(
    r"^\s*Thread (0x[0-9A-Fa-f]{1,16}|\d{1,10}) \((idle|active|active\+gil|idle\+gil)\)(?:: \"(.*)\")?\s*$"
)
#: `    all_reduce (torch/distributed/distributed_c10d.py:2935)`
_FRAME = re.compile(r"^\s+(\S.*?) \(([^()]*?):(\d{1,9})\)\s*$")
_RANK_OPTION = re.compile(r"(?:^|\s)--(?:node[_-]|local[_-])?rank[= ](\d{1,7})(?=\s|$)")
#: single-file modules of the standard library whose names users also give to their own files
_COMMON_NAMES = frozenset({"code", "test", "this", "token", "types", "trace", "profile", "platform", "statistics"})
#: packages that are also run from a checkout; py-spy then shortens their paths in the same way
_CHECKED_OUT = frozenset(
    {"megatron", "detectron2", "fabric", "sky", "past", "future", "streaming", "tables", "evaluate", "av"}
)


@dataclass(frozen=True, slots=True)
class PySpyDump:
    """The stacks of one process."""

    pid: int | None
    command: str
    stacks: Stacks


def find(lines: tuple[str, ...]) -> tuple[PySpyDump, ...]:
    """All dumps in a text, in order; threads before the first process header belong to an unnamed process."""
    parser = _DumpParser()
    for line in lines:
        if process := _PROCESS.match(line):
            parser.begin_process(int(process[1]), process[2])
        elif thread := _THREAD.match(line):
            parser.begin_thread(_thread(thread))
        elif frame := _FRAME.match(line):
            parser.add_frame(frame)
        elif line.strip() and not line[:1].isspace():
            parser.end_thread()
    parser.end_process()
    return tuple(parser.dumps)


class _DumpParser:
    """Collects the threads and frames of one process after the other."""

    def __init__(self) -> None:
        self.dumps: list[PySpyDump] = []
        self._pid: int | None = None
        self._command = ""
        self._threads: list[Thread] = []
        #: of the last thread; None where lines that look like frames belong to none
        self._frames: list[Site] | None = None

    def begin_process(self, pid: int, command: str) -> None:
        self.end_process()
        self._pid, self._command, self._frames = pid, command, None

    def end_process(self) -> None:
        if self._threads:
            threads = tuple(_in_script(thread, self._command) for thread in self._threads)
            self.dumps.append(PySpyDump(self._pid, self._command, Stacks(StackSource.PYSPY, threads)))
            self._threads.clear()

    def begin_thread(self, thread: Thread) -> None:
        self._frames = []
        if len(self._threads) < MOST_THREADS:
            self._threads.append(thread)

    def add_frame(self, found: re.Match[str]) -> None:
        if self._frames is None or not self._threads:
            return
        if is_python(found[2]) and len(self._frames) < MOST_FRAMES:
            self._frames.append(Site(whole_path(found[2]), int(found[3]), found[1].strip()))
            self._threads[-1] = _with_frames(self._threads[-1], tuple(self._frames))

    def end_thread(self) -> None:
        self._frames = None


def _thread(found: re.Match[str]) -> Thread:
    os_id = int(found[1], 16) if found[1].startswith("0x") else int(found[1])
    state = found[2]
    return Thread(
        os_id,
        found[3] or "",
        (),
        active=Observed.of(state.startswith("active")),
        owns_gil=Observed.of("gil" in state),
    )


def _with_frames(thread: Thread, frames: tuple[Site, ...]) -> Thread:
    return Thread(thread.os_id, thread.name, frames, active=thread.active, owns_gil=thread.owns_gil)


def _in_script(thread: Thread, command: str) -> Thread:
    """Put the script's full path into its frames if the command line has it; py-spy prints the file name alone."""
    script = next((word for word in command.split() if word.endswith(".py")), "")
    if not script.startswith("/"):
        return thread
    short = script.rpartition("/")[2]
    frames = tuple(Site(script, f.line, f.function) if f.file == short else f for f in thread.frames)
    return _with_frames(thread, frames)


def is_python(file: str) -> bool:
    """Whether a frame is Python's, rather than of a library that `--native` shows."""
    return file.endswith((".py", ".pyx", ".pyi")) or file.startswith("<")


def whole_path(file: str) -> str:
    """py-spy's short path with a root in front, if the path shows what kind of file it is.

    `threading.py` belongs to the standard library, `torch/...` to an installed package; a user's script keeps its name.
    """
    if file.startswith(("/", "<")) or ":" in file[:3]:
        return file
    first, slash, _ = file.partition("/")
    top = first if slash else first.rpartition(".")[0]
    if top in libraries.STANDARD_LIBRARY and top not in _COMMON_NAMES:
        return f"/lib/python3/{file}"
    if slash and top in libraries.KNOWN and top not in _CHECKED_OUT:
        return f"/site-packages/{file}"
    return file


def local_rank(command: str) -> int | None:
    """The rank option that torch's old launcher put on the worker's command line."""
    found = _RANK_OPTION.search(command)
    return int(found[1]) if found else None
