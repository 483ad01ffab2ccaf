"""Stacks that a process took of itself (probe/thread_stacks.py), and how much of them still holds.

A stack that could have changed since it was taken must prove nothing. The kernel counts how often it takes a thread off
its processor (proc_pid_status(5)), and the process read that count before it took the stack. If a sample finds the
thread asleep with the same count, it has not run in between: to run and to sleep again is to be taken off once more.
Then it is where it was, in the same call, however long ago that is: `rested`, which is worth as much as a stack read
from outside. A thread that has run since may be elsewhere. Its stack is used as long as it is hardly older than a
heartbeat (which looks again, and would have taken another) and nothing else was written to the page, to say what a rank
does, and proves nothing (diagnose/digest/waits.py).
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ddpdoctor.collect import procfs, system_calls
from ddpdoctor.model import json_text
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Descriptor, ProcessState, ThreadState
from ddpdoctor.model.stacks import NotedStacks, NotedThread, Site, Stacks, StackSource, Thread
from ddpdoctor.probe.page import HEARTBEAT_SECONDS
from ddpdoctor.probe.redact import plain

#: seconds for which the stack of a thread that has run since is used: the next heartbeat would have taken another
FRESH = 2.5 * HEARTBEAT_SECONDS
#: bytes of a process's own file that are read
MOST_BYTES = 1 << 20
#: seconds after which the file of a process that has not looked since, and that is not there, is removed
KEPT = 60.0


def fetch(run: Path, pid: int) -> bytes | None:
    """The stacks of a process without a page in its own file, None if it has taken none: it has not stood for long."""
    try:
        with (run / f"{pid}.stacks").open("rb") as file:
            return file.read(MOST_BYTES)
    except OSError:
        return None


def forget(run: Path, now: float) -> None:
    """Remove the files of processes that have ended: data workers come and go with every epoch, and end by a signal.

    `now`: CLOCK_MONOTONIC seconds. That nobody here has its number says little of a process of another PID namespace,
    so its last look counts as well.
    """
    for file in run.glob("*.stacks"):
        with contextlib.suppress(OSError, ValueError), file.open("rb") as opened:
            seen = float(opened.readline(64))
            if now - seen > KEPT and not Path(f"/proc/{file.stem}").exists():
                file.unlink()


def parse(data: bytes) -> NotedStacks:
    """Read what `fetch` found. Raises ValueError for anything else."""
    seen, _, text = data.partition(b"\n")
    found = decode(json_text.parsed(text), seen=float(seen))
    if found is None:
        raise ValueError("not the stacks of a process")
    return found


def decode(value: Any, *, seen: float) -> NotedStacks | None:
    """Stacks from JSON values, None for anything else; what is damaged of them is left out.

    `seen`: when the process last looked whether it still stood there, CLOCK_MONOTONIC seconds.
    """
    match value:
        case {"time": float(time), "files": list(files), "threads": list(threads)}:
            revision = value.get("revision")
            paths = [plain(file) if isinstance(file, str) else "?" for file in files]
            found = tuple(_thread(item, paths) for item in threads if isinstance(item, dict))
            return NotedStacks(time, max(time, seen), revision if isinstance(revision, int) else None, found)
    return None


def _thread(item: Mapping[str, Any], files: list[str]) -> NotedThread:
    frames = item.get("frames")
    os_id, switches, wchan = item.get("id"), item.get("switches"), _text(item.get("wchan"))
    return NotedThread(
        os_id=os_id if isinstance(os_id, int) else 0,
        name=_text(item.get("name")),
        frames=tuple(_sites(frames if isinstance(frames, list) else [], files)),
        switches=switches if isinstance(switches, int) else None,
        wchan="" if wchan == "0" else wchan,
        call=_text(item.get("call")),
        target=_text(item.get("target")),
    )


def _sites(frames: list[Any], files: list[str]) -> Iterator[Site]:
    for frame in frames:
        match frame:
            case [int(file), int(line), str(function)] if 0 <= file < len(files):
                yield Site(files[file], line, plain(function))


def _text(value: Any) -> str:
    return plain(value) if isinstance(value, str) else ""


def believed(
    noted: NotedStacks, process: ProcessState | None, now: float, *, revision: int | None = None
) -> Stacks | None:
    """What of the stacks still holds at `now`, CLOCK_MONOTONIC seconds; None if that of the main thread does not.

    `process` is the sample in which the threads are compared, `revision` the page's by now.
    """
    fresh = noted.revision == revision and now - noted.seen <= FRESH
    threads: list[Thread] = []
    for thread in noted.threads:
        rested = _has_rested(thread, process)
        if fresh or rested is Observed.YES:
            threads.append(Thread(thread.os_id, thread.name, thread.frames, rested=rested))
    if not threads or threads[0].os_id != noted.threads[0].os_id:  # the main thread is the first
        return None
    return Stacks(StackSource.PROBE, tuple(threads), age=max(0.0, now - noted.seen))


def _has_rested(thread: NotedThread, process: ProcessState | None) -> Observed:
    """Whether the thread has not run since its stack was taken."""
    now = process.thread(thread.os_id) if process else None
    if now is None or now.switches is None or thread.switches is None:
        return Observed.UNKNOWN
    return Observed.of(now.state in ("S", "D") and now.switches == thread.switches)


def completed(process: ProcessState, noted: NotedStacks, stacks: Stacks) -> ProcessState:
    """The state with what the kernel tells only a process itself of its threads: what they sleep in, as long as they
    have not run since."""
    rested = {thread.os_id for thread in stacks.threads if thread.rested is Observed.YES}
    kept = {thread.os_id for thread in stacks.threads}
    told = {thread.os_id: thread for thread in noted.threads if thread.os_id in kept}
    threads = []
    opened = {one.number: one for one in process.descriptors}
    for state in process.threads:
        if said := told.get(state.os_id):
            state = dataclasses.replace(state, wchan=state.wchan or said.wchan)
        if said and said.os_id in rested and not state.call:
            state = _in_call(state, said)
            if state.descriptor is not None and said.target:
                one = Descriptor(state.descriptor, procfs.kind_of(said.target), said.target)
                opened.setdefault(one.number, one)
        threads.append(state)
    return dataclasses.replace(process, threads=tuple(threads), descriptors=tuple(opened.values()))


def _in_call(state: ThreadState, said: NotedThread) -> ThreadState:
    call = system_calls.of_line(said.call)
    return dataclasses.replace(state, call=call.name, descriptor=call.descriptor)
