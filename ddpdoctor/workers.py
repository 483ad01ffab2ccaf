"""Impure: forks. Distributes work over processes that are given one item at a time, and survives the loss of any.

The items come in shares. A process takes a share, is given its items one by one, sends each result back at once, and
ends with the share, so that its memory is returned to the system. If no share is left, an idle slot takes half of the
longest remaining one. A process that dies costs only the item it was working on; the rest of its share goes to a new
process.

The task sets its own limits (memory, time, output) in `begin`: a process that exceeds one ends, and its item is
reported as `Lost` with the signal or the exit status that identifies the limit.
"""

from __future__ import annotations

import gc
import os
import select
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar

S = TypeVar("S")
R = TypeVar("R")

#: bytes of the length that precedes each message
_LENGTH = 8


class Lost(NamedTuple):
    """The result of an item whose process ended while it worked on it."""

    #: the signal that killed it, 0 if it exited by itself
    signal: int
    #: its exit status; 1 after an exception, 0 if a signal killed it
    status: int = 0


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def can_fork() -> bool:
    """Whether this system has what `each` needs."""
    return hasattr(os, "fork") and hasattr(select, "poll")


def each(
    begin: Callable[[], Callable[[S], R]], shares: Sequence[Sequence[S]], jobs: int, *, smallest: int = 1
) -> Generator[tuple[S, R | Lost, int], None, None]:
    """(item, result, number of the process) in the order of completion, from at most `jobs` processes at a time.

    Every process calls `begin` once to get its task; process numbers are never reused. Items are inherited by the fork,
    so only results are pickled. `smallest` is the number of items that are worth a process when a share is halved. If
    the caller stops early, closes the generator or is interrupted, all processes are killed and reaped.
    """
    pool = _Pool(begin, shares, smallest)
    try:
        while pool.fill(jobs):
            yield from pool.wait()
    finally:
        pool.kill()


class _Process:
    """A process at work: its result pipe, its order pipe, and the items it still has."""

    __slots__ = ("item", "left", "number", "orders", "pid", "results")

    def __init__(self, pid: int, number: int, results: int, orders: int, share: deque[int]) -> None:
        self.pid, self.number, self.results, self.orders = pid, number, results, orders
        self.item = share.popleft()
        self.left = share

    def hand_over(self) -> None:
        """Order the next item."""
        self.item = self.left.popleft()
        _send(self.orders, self.item.to_bytes(_LENGTH, "little"))

    def end(self) -> Lost:
        """Wait for the exit of a process that has nothing left to do."""
        os.close(self.orders)
        os.close(self.results)
        _, status = os.waitpid(self.pid, 0)
        return Lost(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else Lost(0, os.waitstatus_to_exitcode(status))


class _Pool(Generic[S, R]):
    """The waiting shares, and the processes at work on the others. Items are indices into `_items` here."""

    def __init__(self, begin: Callable[[], Callable[[S], R]], shares: Sequence[Sequence[S]], smallest: int) -> None:
        self._begin = begin
        self._items = [item for share in shares for item in share]
        numbers = iter(range(len(self._items)))
        self._waiting = deque(deque(next(numbers) for _ in share) for share in shares if share)
        self._smallest = smallest
        self._running: dict[int, _Process] = {}
        self._started = 0
        self._poll = select.poll()

    def fill(self, jobs: int) -> bool:
        """Start processes while there is work for them. False when all is done."""
        while len(self._running) < jobs and (share := self._share()):
            process = self._start(share)
            self._running[process.results] = process
            self._poll.register(process.results, select.POLLIN | select.POLLHUP)
        return bool(self._running)

    def wait(self) -> Iterable[tuple[S, R | Lost, int]]:
        """Wait for one or more results."""
        import pickle  # lint imports this module even where it never forks

        for results, _ in self._poll.poll():
            process = self._running[results]
            message, done = _receive(results), process.item
            ended = Lost(0)
            if message is not None and process.left:
                process.hand_over()
            else:
                self._poll.unregister(results)
                del self._running[results]
                ended = process.end()
                if process.left:  # not begun: another process takes them
                    self._waiting.append(process.left)
            yield self._items[done], ended if message is None else pickle.loads(message), process.number

    def kill(self) -> None:
        """End the processes that are still at work."""
        import signal  # lint imports this module even where it never forks

        for process in self._running.values():
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
            process.end()
        self._running.clear()

    def _share(self) -> deque[int] | None:
        """The next share, or half of the longest remaining one."""
        if self._waiting:
            return self._waiting.popleft()
        longest: deque[int] = max((process.left for process in self._running.values()), key=len, default=deque())
        half = len(longest) // 2
        return deque(longest.pop() for _ in range(half)) if half >= self._smallest else None

    def _start(self, share: deque[int]) -> _Process:
        reader, results = os.pipe()
        orders, writer = os.pipe()
        self._started += 1
        pid = os.fork()
        if pid:
            os.close(results)
            os.close(orders)
            return _Process(pid, self._started, reader, writer, share)
        # nothing of the parent's clean-up may run here: neither its buffers nor its exit handlers
        status = 1
        try:
            others = [end for process in self._running.values() for end in (process.results, process.orders)]
            for descriptor in (reader, writer, *others):
                os.close(descriptor)
            _work(self._begin(), self._items, share[0], orders, results)
            status = 0
        finally:
            os._exit(status)


def _work(task: Callable[[S], R], items: Sequence[S], first: int, orders: int, results: int) -> None:
    """In the process: do an item, send its result, take the next order; end when there is none."""
    import pickle

    gc.disable()  # the process ends with its share, and looking for cycles costs up to a third of the time
    number: int | None = first
    while number is not None:
        message = pickle.dumps(task(items[number]), pickle.HIGHEST_PROTOCOL)
        _send(results, len(message).to_bytes(_LENGTH, "little") + message)
        order = os.read(orders, _LENGTH)
        number = int.from_bytes(order, "little") if order else None


def _send(descriptor: int, data: bytes) -> None:
    # if the other side has ended, that is noticed where its results are read
    with suppress(BrokenPipeError):
        while data:
            data = data[os.write(descriptor, data) :]


def _receive(descriptor: int) -> bytes | None:
    """One message; None if its sender ended before it was complete."""
    head = _exactly(descriptor, _LENGTH)
    return _exactly(descriptor, int.from_bytes(head, "little")) if head is not None else None


def _exactly(descriptor: int, size: int) -> bytes | None:
    parts: list[bytes] = []
    while size:
        part = os.read(descriptor, min(size, 1 << 20))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
