"""The Python stacks of this process, taken by one of its own threads while nothing moves.

They are for watchers that may not read them from outside, and cost nothing otherwise: a rank's are taken by its
heartbeat once nothing else has been written to its page for STILL seconds, those of a rank's data worker once its main
thread has been at one place for as long.

A stack that could have changed since it was taken proves nothing. So with each goes how often the kernel had taken
that thread off its processor until then, read before the stack: as long as that number is the same and the thread
sleeps, it has not run, and is where it was. Beside it stands what the thread slept in, which a process may always ask
of itself. Nothing is written while all of it stays the same.

Only the places in the code are read, and thread names: no variable, and no code of the job runs.
"""

from __future__ import annotations

import _thread
import json
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from types import FrameType
from typing import Any

from . import call_sites, state
from .page import HEARTBEAT_SECONDS, STACKS_SIZE
from .writer import PageWriter

#: seconds without movement after which stacks are taken
STILL = 3.0
MOST_THREADS = 32
#: frames of a thread that are kept, and those that are gone through to find its outermost ones
INNERMOST, OUTERMOST, DEEPEST = 64, 32, 4096
#: frames by which a data worker is seen to stand
COMPARED = 32
LONGEST_NAME, LONGEST_FILE = 200, 1024
#: the bytes of a kernel file that are read
_MOST_BYTES = 4096
_SWITCHES = (b"voluntary_ctxt_switches:", b"nonvoluntary_ctxt_switches:")


class OfRank:
    """Takes the stacks of a rank, for its page. `look` is called by the heartbeat, and never raises."""

    def __init__(self, page: PageWriter) -> None:
        self._page = page
        self._written: dict[str, Any] = {}

    def look(self) -> None:
        """Write the stacks if nothing moves, and if they are others than those on the page."""
        try:
            if self._page.still() < STILL:
                return
            revision = self._page.revision()
            found = {"revision": revision, **taken(os.getpid(), self._page.threads())}
            if found == self._written and _counted(found):
                return
            self._page.stacks({"time": time.monotonic(), **found})
            self._written = found
        except Exception:  # noqa: BLE001 - boundary: the heart must go on
            return


class _OfWorker:
    """Takes the stacks of a data worker, for a file of its own."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._main = _thread.get_ident()
        self._place: tuple[int, ...] = ()
        self._since = time.monotonic()
        self._written: dict[str, Any] = {}

    def run(self) -> None:
        try:
            while state.page is None:  # it has one as soon as it is a rank itself
                time.sleep(HEARTBEAT_SECONDS)
                self._look()
        except Exception:  # noqa: BLE001 - boundary: the job must not hear of it
            return

    def _look(self) -> None:
        place = _place(sys._current_frames().get(self._main))
        if place != self._place:
            self._place, self._since = place, time.monotonic()
            if self._written:
                self._written = {}
                os.unlink(self._path)
            return
        if time.monotonic() - self._since < STILL:
            return
        found = taken(os.getpid(), {self._main: os.getpid()})
        if found != self._written or not _counted(found):
            descriptor = os.open(self._path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with open(descriptor, "w", encoding="ascii") as file:
                json.dump({"time": time.monotonic(), **found}, file)
            os.rename(self._path + ".new", self._path)
            self._written = found


def start_in_worker() -> None:
    """Called in a process that multiprocessing has started. If a rank has, that is most likely a data worker: a thread
    looks once a second whether it stands. Never raises."""
    try:
        if state.page is None and state.run and any(_has_page(pid) for pid in _ancestors()):
            path = os.path.join(state.run, f"{os.getpid()}.stacks")
            _thread.start_new_thread(_OfWorker(path).run, ())
    except Exception:  # noqa: BLE001 - boundary: the job must not hear of it
        return


def _ancestors() -> Iterator[int]:
    """The parent, and its parent: a fork server may be in between."""
    parent = os.getppid()
    yield parent
    yield int(_read(f"/proc/{parent}/stat").rpartition(b")")[2].split()[1])


def _has_page(pid: int) -> bool:
    return os.path.exists(os.path.join(state.run, f"{pid}.page"))


def taken(main: int, known: dict[int, int]) -> dict[str, Any]:
    """The stacks of all threads but this one as JSON values, the main thread first, then the others in `known`.

    `main` is the kernel's number of the main thread; `known` has that of other threads by Python's. As many threads as
    fit into STACKS_SIZE are kept.
    """
    numbers = {**_numbers(), **known}
    first = threading.main_thread().ident
    if first is not None:
        numbers[first] = main
    # before the stacks: a thread that runs in between has another number afterwards
    kernel = {number: _kernel(number) for number in tuple(numbers.values())[:MOST_THREADS]}
    stacks = sys._current_frames()
    stacks.pop(_thread.get_ident(), None)
    order = sorted(stacks, key=lambda ident: (ident != first, ident not in known))[:MOST_THREADS]
    files: dict[str, int] = {}
    threads = []
    room = STACKS_SIZE - 1024
    for ident in order:
        number = numbers.get(ident, 0)
        frames = [[files.setdefault(file, len(files)), line, name] for file, line, name in _frames(stacks[ident])]
        thread = {"id": number, "name": _name(ident), "frames": frames, **kernel.get(number, {})}
        room -= len(json.dumps(thread)) + 2
        if room < len(json.dumps(list(files))):
            break
        threads.append(thread)
    return {"files": list(files), "threads": threads}


def _counted(taken: dict[str, Any]) -> bool:
    """Whether the main thread's switches are known: without them only its time tells what a stack is worth."""
    threads = taken["threads"]
    return bool(threads) and threads[0].get("switches") is not None


def _frames(innermost: FrameType) -> list[tuple[str, int, str]]:
    """The places of a stack, innermost first; from the middle of a deep one some are left out."""
    head: list[tuple[str, int, str]] = []
    tail: deque[FrameType] = deque(maxlen=OUTERMOST)
    frame: FrameType | None = innermost
    for _ in range(DEEPEST):
        if frame is None:
            break
        if len(head) < INNERMOST:
            head.append(_describe(frame))
        else:
            tail.append(frame)
        frame = frame.f_back
    return head + [_describe(frame) for frame in tail]


def _describe(frame: FrameType) -> tuple[str, int, str]:
    """As py-spy does: with the qualified name of the function where the interpreter has it (from Python 3.11 on)."""
    file, line, name = call_sites.describe(frame)
    return file[:LONGEST_FILE], line, str(getattr(frame.f_code, "co_qualname", name))[:LONGEST_NAME]


def _place(frame: FrameType | None) -> tuple[int, ...]:
    found: list[int] = []
    while frame is not None and len(found) < 2 * COMPARED:
        found += (id(frame), frame.f_lasti)
        frame = frame.f_back
    return tuple(found)


def _attributes(ident: int) -> dict[str, Any]:
    """Of the thread object with this number, without its lock and its properties."""
    thread = getattr(threading, "_active", {}).get(ident)
    return {} if thread is None else dict(object.__getattribute__(thread, "__dict__"))


def _numbers() -> dict[int, int]:
    """Python's number -> the kernel's, of all threads that `threading` knows."""
    found = {ident: _attributes(ident).get("_native_id") for ident in tuple(getattr(threading, "_active", {}))}
    return {ident: number for ident, number in found.items() if type(number) is int}


def _name(ident: int) -> str:
    name = _attributes(ident).get("_name")
    return name[:LONGEST_NAME] if type(name) is str else ""


def _kernel(thread: int) -> dict[str, Any]:
    """How often the thread was taken off its processor, and what it sleeps in; without what cannot be read."""
    folder = f"/proc/self/task/{thread}/"
    counts = [int(line.split()[1]) for line in _read(folder + "status").splitlines() if line.startswith(_SWITCHES)]
    call = _read(folder + "syscall").decode("ascii", "replace").strip()
    return {
        "switches": sum(counts) if len(counts) == len(_SWITCHES) else None,
        "wchan": _read(folder + "wchan").decode("ascii", "replace").strip(),
        "call": call,
        "target": _target(call),
    }


def _target(call: str) -> str:
    """The file behind the first argument of a system call, if that is the number of one."""
    words = call.split()
    try:
        number = int(words[1], 16) if len(words) > 1 else -1
        return os.readlink(f"/proc/self/fd/{number}")[:LONGEST_FILE] if 0 <= number < 1 << 20 else ""
    except (OSError, ValueError):
        return ""


def _read(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _MOST_BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
