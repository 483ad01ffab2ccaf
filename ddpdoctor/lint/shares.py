"""Impure: forks. Work shared out over processes, each of which takes one share, sends back what it made of it and ends.

A process per share, not a pool: what a share has parsed goes back to the system at once when its process ends, so that
none of them looks for garbage (a quarter of the time of a long run) and none grows, and one that dies takes no other's
work along.
"""

from __future__ import annotations

import gc
import os
import select
import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from ddpdoctor.lint.record import field, record

S = TypeVar("S")
R = TypeVar("R")

_CHUNK = 1 << 16


@record(frozen=True, slots=True)
class Lost:
    """A share whose process failed: killed by `signal`, or by an exception where that is 0."""

    signal: int


@record(eq=False, slots=True)
class _Worker:
    """A process at work on one share."""

    pid: int
    index: int
    received: list[bytes] = field(default_factory=list)


def possible() -> bool:
    """Whether this system forks."""
    return hasattr(os, "fork") and hasattr(select, "poll")


def each(task: Callable[[S], R], shares: Sequence[S], jobs: int) -> Generator[tuple[int, R | Lost], None, None]:
    """(index of the share, result) as they are done, by at most `jobs` processes at a time."""
    import pickle  # noqa: F401 - here, so that every process that is forked has it

    waiting = list(enumerate(shares))[::-1]
    running: dict[int, _Worker] = {}
    poll = select.poll()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                index, share = waiting.pop()
                reader, pid = _start(task, share)
                running[reader] = _Worker(pid, index)
                poll.register(reader, select.POLLIN | select.POLLHUP)
            for reader, _ in poll.poll():
                data = os.read(reader, _CHUNK)
                if data:
                    running[reader].received.append(data)
                    continue
                poll.unregister(reader)
                os.close(reader)
                worker = running.pop(reader)
                yield worker.index, _result(worker)
    finally:
        for reader, worker in running.items():
            os.close(reader)
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)
            os.waitpid(worker.pid, 0)


def _start(task: Callable[[S], R], share: S) -> tuple[int, int]:
    """(where its result is read from, process)."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return reader, pid
    # nothing of the parent's may run here: no flush of its streams, no handler at exit
    status = 1
    try:
        os.close(reader)
        import pickle

        gc.disable()
        with open(writer, "wb") as stream:
            stream.write(pickle.dumps(task(share), pickle.HIGHEST_PROTOCOL))
        status = 0
    finally:
        os._exit(status)


def _result(worker: _Worker) -> Any:
    _, status = os.waitpid(worker.pid, 0)
    if status:
        return Lost(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0)
    import pickle

    return pickle.loads(b"".join(worker.received))
