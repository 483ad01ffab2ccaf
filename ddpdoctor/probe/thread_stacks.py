"""The Python stacks of this process, taken by one of its own threads while nothing moves.

They are for watchers that may not read them from outside, and cost nothing otherwise: a rank's are taken by its
heartbeat once nothing else has been written to its page for STILL seconds, those of a rank's data worker, or of a rank
that has no page yet, once the main thread has been at one place for as long.

A stack that could have changed since it was taken proves nothing. So with each goes how often the kernel had taken
that thread off its processor until then, read before the stack: as long as that number is the same and the thread
sleeps, it has not run, and is where it was. Beside it stands what the thread slept in, which a process may always ask
of itself. While all of it stays the same only the time is written: of the heartbeat, or into the file's first line.

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
        #: the page's revision and the threads' switches with which the stacks on the page were taken
        self._written: tuple[int, dict[int, int]] | None = None

    def look(self) -> None:
        """Write the stacks if nothing moves, and if a thread has run since those on the page were taken."""
        try:
            if self._page.still() < STILL:
                return
            revision, numbers = self._page.revision(), _numbers(os.getpid(), self._page.threads())
            switches = _all_switches(numbers)
            if switches and (revision, switches) == self._written:
                return
            time_, found = time.monotonic(), taken(numbers, tuple(self._page.threads()))
            self._page.stacks({"time": time_, "revision": revision, **found})
            self._written = revision, switches
        except Exception:  # noqa: BLE001 - boundary: the heart must go on
            return


class _WithoutPage:
    """Takes the stacks of a process without a page, for a file of its own."""

    def __init__(self) -> None:
        self._path = os.path.join(state.run, f"{os.getpid()}.stacks")
        self._main = threading.main_thread().ident or 0
        self._place: tuple[int, ...] = ()
        self._since = time.monotonic()
        #: the threads' switches with which the stacks in the file were taken, None if there is no file
        self._written: dict[int, int] | None = None

    def run(self) -> None:
        try:
            while state.page is None:  # from then on the heartbeat does it
                time.sleep(HEARTBEAT_SECONDS)
                self._look()
            self._take_back()
        except Exception:  # noqa: BLE001 - boundary: the job must not hear of it
            return

    def _look(self) -> None:
        place = _place(sys._current_frames().get(self._main))
        if place != self._place:
            self._place, self._since = place, time.monotonic()
            self._take_back()
        elif time.monotonic() - self._since >= STILL:
            numbers = _numbers(os.getpid(), {})
            switches = _all_switches(numbers)
            if not switches or switches != self._written:
                self._write(numbers)
                self._written = switches
            else:
                self._confirm()

    def _take_back(self) -> None:
        if self._written is not None:
            self._written = None
            os.unlink(self._path)

    def _write(self, numbers: dict[int, int]) -> None:
        """By renaming, so that a reader finds all of it."""
        now = time.monotonic()
        text = json.dumps({"time": now, **taken(numbers, ())})
        descriptor = os.open(self._path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(_line(now) + text.encode("ascii"))
        os.rename(self._path + ".new", self._path)

    def _confirm(self) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, _line(time.monotonic()))
        finally:
            os.close(descriptor)


def _line(now: float) -> bytes:
    """A file's first line: when the process last looked. Always of the same length."""
    return b"%020.6f\n" % now


def start_in_worker() -> None:
    """Called in a process that multiprocessing has started. If a rank has, that is most likely a data worker: a thread
    looks once a second whether it stands. Never raises."""
    try:
        if state.page is None and state.run and any(_has_page(pid) for pid in _ancestors()):
            _thread.start_new_thread(_WithoutPage().run, ())
    except Exception:  # noqa: BLE001 - boundary: the job must not hear of it
        return


def start_before_page() -> None:
    """Called at the end of `import torch`: the same in a process that is told to become a rank, until it is one."""
    try:
        if state.page is None and os.environ.keys() >= {"RANK", "WORLD_SIZE"}:
            _thread.start_new_thread(_WithoutPage().run, ())
    except Exception:  # noqa: BLE001 - boundary: the job must not hear of it
        return


def _ancestors() -> Iterator[int]:
    """The parent, and its parent: a fork server may be in between."""
    parent = os.getppid()
    yield parent
    yield int(_read(f"/proc/{parent}/stat").rpartition(b")")[2].split()[1])


def _has_page(pid: int) -> bool:
    return os.path.exists(os.path.join(state.run, f"{pid}.page"))


def taken(numbers: dict[int, int], first: tuple[int, ...]) -> dict[str, Any]:
    """The stacks of all threads but this one as JSON values: the main thread's, those of the threads `first`, and as
    many more as fit into STACKS_SIZE. `numbers`: the kernel's number of each thread by Python's."""
    # before the stacks: a thread that runs in between has another number of switches afterwards
    kernel = {number: _kernel(number) for number in tuple(numbers.values())[:MOST_THREADS]}
    stacks = sys._current_frames()
    stacks.pop(_thread.get_ident(), None)
    main = threading.main_thread().ident
    order = sorted(stacks, key=lambda ident: (ident != main, ident not in first))[:MOST_THREADS]
    files: dict[str, int] = {}
    threads: list[dict[str, Any]] = []
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


def _numbers(main: int, known: dict[int, int]) -> dict[int, int]:
    """The kernel's number of each thread by Python's: those that `threading` knows, and the main thread and those
    `known` in their place."""
    found = {ident: _attributes(ident).get("_native_id") for ident in tuple(getattr(threading, "_active", {}))}
    numbers = {ident: number for ident, number in found.items() if type(number) is int}
    first = threading.main_thread().ident
    own = {} if first is None else {first: main}
    return {**own, **numbers, **known, **own}


def _name(ident: int) -> str:
    name = _attributes(ident).get("_name")
    return name[:LONGEST_NAME] if type(name) is str else ""


def _kernel(thread: int) -> dict[str, Any]:
    """How often the thread was taken off its processor, and what it sleeps in; without what cannot be read."""
    switches = _switches(thread)
    call = _read(f"/proc/self/task/{thread}/syscall").decode("ascii", "replace").strip()
    wchan = _read(f"/proc/self/task/{thread}/wchan").decode("ascii", "replace").strip()
    return {"switches": switches, "wchan": wchan, "call": call, "target": _target(call)}


def _switches(thread: int) -> int | None:
    """How often the kernel has taken a thread off its processor, None if it does not say."""
    lines = _read(f"/proc/self/task/{thread}/status").splitlines()
    counts = [int(line.split()[1]) for line in lines if line.startswith(_SWITCHES)]
    return sum(counts) if len(counts) == len(_SWITCHES) else None


def _all_switches(numbers: dict[int, int]) -> dict[int, int]:
    """Those of all threads but this one, which runs; empty if one of them is not known."""
    own = threading.get_native_id()
    found = {number: _switches(number) for number in tuple(numbers.values())[:MOST_THREADS] if number != own}
    return {} if None in found.values() else {number: count for number, count in found.items() if count is not None}


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
