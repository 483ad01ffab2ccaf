"""The kernel's data about a process: state, threads, wait channels, processor time, io, descriptors."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from ddpdoctor.collect.deadline import within
from ddpdoctor.collect.holders import Holders
from ddpdoctor.collect.system_calls import NONE, SystemCall, of_task
from ddpdoctor.model import json_text
from ddpdoctor.model.codec import DecodeError, decode, encode
from ddpdoctor.model.evidence import Gap, Source
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Descriptor, LockFile, ProcessState, ThreadState
from ddpdoctor.model.ranks import Worker
from ddpdoctor.probe.redact import plain

MOST_THREADS = 256
MOST_DESCRIPTORS = 128

_TICKS = os.sysconf("SC_CLK_TCK")
#: states of a process that has ended; proc(5)
_ENDED = ("Z", "X", "x")
#: bytes that hold the fields up to `state`, and more
_STAT = 512
#: index of `exit_code`, field 52, from `state` on
_EXIT_CODE = 49


def fetch(
    worker: Worker, proc: Path = Path("/proc"), holders: Holders | None = None, lock_files: tuple[str, ...] = ()
) -> bytes | Gap:
    """One sample of /proc/<pid> as JSON; a Gap if the process has ended or is hidden.

    With `holders`, also which processes hold what its main thread waits on, and which have the given files open.
    """
    folder = proc / str(worker.pid)
    try:
        letter, seconds = _stat(folder / "stat")
    except OSError as error:
        return Gap(Source.PROCESSES, worker.rank, f"/proc/{worker.pid} cannot be read: {error.strerror}")
    calls = _threads(folder / "task")
    descriptors = _descriptors(worker.pid, folder, {state.descriptor for state, _ in calls}, holders or Holders(proc))
    threads = (_with_holders(worker.pid, *pair, descriptors, holders) if holders else pair[0] for pair in calls)
    state = ProcessState(
        time=time.monotonic(),
        state=letter,
        cpu_seconds=seconds,
        io_bytes=_io_bytes(folder / "io"),
        threads=tuple(threads),
        descriptors=descriptors,
        lock_files=tuple(_lock_file(worker.pid, path, holders) for path in lock_files) if holders else (),
    )
    return json.dumps(encode(state)).encode()


def parse(data: bytes) -> ProcessState:
    """Read what `fetch` wrote. Raises ValueError for anything else."""
    loaded: Any = json_text.parsed(data)
    try:
        return decode(ProcessState, loaded)
    except DecodeError as error:
        raise ValueError(str(error)) from error


def state(pid: int, proc: Path = Path("/proc")) -> str:
    """The state letter of proc(5), "" if the process does not exist."""
    try:
        # no Path and no text: every rank is asked each second
        with open(f"{proc}/{pid}/stat", "rb", buffering=0) as file:
            fields = file.read(_STAT).rpartition(b")")[2].split(None, 1)
        return fields[0].decode("ascii", "replace") if fields else ""
    except OSError:
        return ""


def runs(pid: int, proc: Path = Path("/proc")) -> bool:
    """Whether the process exists and has not ended."""
    return state(pid, proc) not in ("", *_ENDED)


def exit_status(pid: int, proc: Path = Path("/proc")) -> int | None:
    """The status of a process that has ended and that its parent has not asked for yet: negative for a signal.

    None if the process is gone, or still runs. Field 52 of proc(5), which reads 0 for users who may not see it.
    """
    try:
        fields = _fields(proc / str(pid) / "stat")
        status = int(fields[_EXIT_CODE]) if fields[0] in _ENDED else None
    except (OSError, IndexError, ValueError):
        return None
    return None if status is None else os.waitstatus_to_exitcode(status)


def _fields(stat: Path) -> list[str]:
    """The fields from `state` on. The name before them may contain spaces and parentheses, so the last ')' ends it."""
    return stat.read_text(errors="replace").rpartition(")")[2].split()


def _stat(stat: Path) -> tuple[str, float]:
    fields = _fields(stat)
    return fields[0], (int(fields[11]) + int(fields[12])) / _TICKS


def _switches(status: Path) -> int | None:
    """How often a thread has left its processor, willingly or not; proc_pid_status(5)."""
    try:
        counts = [int(line.split()[1]) for line in status.read_text().splitlines() if "_ctxt_switches:" in line]
    except (OSError, IndexError, ValueError):
        return None
    return sum(counts) if len(counts) == 2 else None


def _io_bytes(io: Path) -> int | None:
    try:
        values = dict(line.split(": ") for line in io.read_text().splitlines())
        return int(values["rchar"]) + int(values["wchar"])
    except (OSError, KeyError, ValueError):
        return None


def _threads(tasks: Path) -> list[tuple[ThreadState, SystemCall]]:
    found: list[tuple[ThreadState, SystemCall]] = []
    with contextlib.suppress(OSError):
        for task in sorted(tasks.iterdir(), key=lambda t: int(t.name))[:MOST_THREADS]:
            with contextlib.suppress(OSError, IndexError, ValueError):
                letter, seconds = _stat(task / "stat")
                name = plain((task / "comm").read_text(errors="replace").strip())
                call = of_task(task) if letter in ("S", "D") else NONE
                what = call.name, call.descriptor, plain(call.path)
                state = ThreadState(int(task.name), name, letter, _wchan(task), seconds, *what)
                counted = dataclasses.replace(
                    state, io_bytes=_io_bytes(task / "io"), switches=_switches(task / "status")
                )
                found.append((counted, call))
    return found


def _with_holders(
    pid: int, state: ThreadState, call: SystemCall, descriptors: tuple[Descriptor, ...], holders: Holders
) -> ThreadState:
    """The thread state with the holders of what it waits on; for other threads than the main one only of processes,
    mutexes and pipes: the thread that trains need not be the main one, and they have many sockets."""
    target = next((d for d in descriptors if d.number == state.descriptor), None)
    if call.child is not None:
        held, unseen = holders.of_child(call.child)
    elif call.mutex_owner is not None:
        held, unseen = holders.of_mutex(pid, call.mutex_owner)
    elif target is not None and (state.os_id == pid or target.kind == "pipe"):
        held, unseen = holders.of_call(pid, state.call, target)
    else:
        return state
    return dataclasses.replace(state, holders=held, unseen=unseen)


def _lock_file(pid: int, path: str, holders: Holders) -> LockFile:
    """What the file system says of a lock file. A mount that does not answer delays this process's sample only."""
    unknown: tuple[float | None, Observed] = None, Observed.UNKNOWN
    modified, exists = within(lambda: _modified(path), unknown)
    held, unseen = holders.of_file(path, but=pid) if exists is Observed.YES else ((), "")
    return LockFile(plain(path), exists, modified, held, unseen)


def _modified(path: str) -> tuple[float | None, Observed]:
    try:
        return Path(path).stat().st_mtime, Observed.YES
    except FileNotFoundError:
        return None, Observed.NO


def _wchan(task: Path) -> str:
    try:
        text = (task / "wchan").read_text().strip()
    except OSError:
        return ""
    return "" if text == "0" else text


def _descriptors(pid: int, folder: Path, asked: Collection[int | None], holders: Holders) -> tuple[Descriptor, ...]:
    """The first open files, and those that calls in flight refer to."""
    found: list[Descriptor] = []
    with contextlib.suppress(OSError):
        links = sorted((folder / "fd").iterdir(), key=lambda f: int(f.name))
        for link in (*links[:MOST_DESCRIPTORS], *(x for x in links[MOST_DESCRIPTORS:] if int(x.name) in asked)):
            with contextlib.suppress(OSError):
                target, local = plain(str(link.readlink())), ""
                kind = kind_of(target)
                if target.startswith("socket:["):
                    end = holders.socket_of(pid, target[8:-1])
                    target, local = (plain(end.target), end.local) if end else (target, "")
                found.append(Descriptor(int(link.name), kind, target, local))
    return tuple(found)


def kind_of(target: str) -> str:
    """The `Descriptor.kind` of an open file, by what its link in /proc says."""
    if target.startswith("socket:"):
        return "socket"
    if target.startswith("pipe:"):
        return "pipe"
    if target.startswith(("/dev/pts/", "/dev/tty")):
        return "tty"
    return "file" if target.startswith("/") else "other"
