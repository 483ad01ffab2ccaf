"""Impure: forks. Work shared out over processes that are handed one item after the other, and end with their share.

A process per share, not a pool: what a share has parsed goes back to the system at once when its process ends, so that
none of them looks for garbage (a quarter of the time of a long run) and none grows. Where no share is left, half of
what the longest one still holds goes to a process of its own: none waits for another's long share to end.
"""

from __future__ import annotations

import gc
import os
import select
import signal
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from ddpdoctor.model.record import record

S = TypeVar("S")
R = TypeVar("R")

#: bytes of a message's length before it
_LENGTH = 8


@record(frozen=True, slots=True)
class Lost:
    """An item whose process failed on it: killed by `signal`, or by an exception where that is 0."""

    signal: int


@record(eq=False, slots=True)
class _Worker:
    """A process at work, the item that it has been given, and what it will be given."""

    pid: int
    orders: int
    item: Any
    left: deque[Any]


def possible() -> bool:
    """Whether this system forks."""
    return hasattr(os, "fork") and hasattr(select, "poll")


def each(
    begin: Callable[[], Callable[[S], R]], shares: Sequence[Sequence[S]], jobs: int
) -> Generator[tuple[S, R | Lost], None, None]:
    """(item, result) as they are done, by at most `jobs` processes at a time; each asks `begin` for its task.

    Items are handed over by their number, so only results are pickled.
    """
    import pickle

    items = [item for share in shares for item in share]
    numbers = iter(range(len(items)))
    waiting = deque(deque(next(numbers) for _ in share) for share in shares if share)
    running: dict[int, _Worker] = {}
    poll = select.poll()
    try:
        while waiting or running:
            while len(running) < jobs and (share := _share(waiting, running.values())):
                results, worker = _start(begin, items, share, running)
                running[results] = worker
                poll.register(results, select.POLLIN | select.POLLHUP)
            for results, _ in poll.poll():
                worker = running[results]
                message = _read(results)
                done = worker.item
                if message is not None and worker.left:
                    worker.item = worker.left.popleft()
                    _send(worker.orders, worker.item.to_bytes(_LENGTH, "little"))
                else:
                    poll.unregister(results)
                    del running[results]
                    status = _end(results, worker)
                    if worker.left:  # it took none of those along
                        waiting.append(worker.left)
                yield items[done], Lost(status) if message is None else pickle.loads(message)
    finally:
        for results, worker in running.items():
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)
            _end(results, worker)


def _share(waiting: deque[deque[int]], running: Any) -> deque[int] | None:
    """The next share; else half of what a process still has before it."""
    if waiting:
        return waiting.popleft()
    longest: deque[int] = max((worker.left for worker in running), key=len, default=deque())
    return deque(longest.pop() for _ in range(len(longest) // 2)) or None


def _start(
    begin: Callable[[], Callable[[S], R]], items: Sequence[S], share: deque[int], others: dict[int, _Worker]
) -> tuple[int, _Worker]:
    """(where its results are read from, a process at work on the first item of the share)."""
    reader, results = os.pipe()
    orders, writer = os.pipe()
    first = share.popleft()
    pid = os.fork()
    if pid:
        os.close(results)
        os.close(orders)
        return reader, _Worker(pid, writer, first, share)
    # nothing of the parent's may run here: no flush of its streams, no handler at exit
    status = 1
    try:
        for descriptor in (reader, writer, *others, *(w.orders for w in others.values())):
            os.close(descriptor)
        _work(begin(), items, first, orders, results)
        status = 0
    finally:
        os._exit(status)


def _work(task: Callable[[S], R], items: Sequence[S], first: int, orders: int, results: int) -> None:
    import pickle

    gc.disable()
    number: int | None = first
    while number is not None:
        message = pickle.dumps(task(items[number]), pickle.HIGHEST_PROTOCOL)
        _send(results, len(message).to_bytes(_LENGTH, "little") + message)
        order = os.read(orders, _LENGTH)
        number = int.from_bytes(order, "little") if order else None


def _send(descriptor: int, data: bytes) -> None:
    # a process that is gone is noticed where its results are read
    with suppress(BrokenPipeError):
        while data:
            data = data[os.write(descriptor, data) :]


def _read(descriptor: int) -> bytes | None:
    """One message; None where its process ended before its end."""
    head = _exactly(descriptor, _LENGTH)
    return _exactly(descriptor, int.from_bytes(head, "little")) if head is not None else None


def _exactly(descriptor: int, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        more = os.read(descriptor, size - len(data))
        if not more:
            return None
        data += more
    return data


def _end(results: int, worker: _Worker) -> int:
    """Wait for a process that has nothing to do any more: the signal that killed it, or 0."""
    os.close(worker.orders)
    os.close(results)
    _, status = os.waitpid(worker.pid, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
