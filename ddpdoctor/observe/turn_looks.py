"""Impure. Looks at the stacks of ranks that move, for the turn of their loop that they are in."""

from __future__ import annotations

import contextlib
import resource
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ddpdoctor.collect import pyspy
from ddpdoctor.collect.capture import PartKind, Sample
from ddpdoctor.diagnose.counted_loops import CountedLoop, loop_around
from ddpdoctor.model.ranks import Role, Worker
from ddpdoctor.model.stacks import Site, Thread
from ddpdoctor.observe.history import History
from ddpdoctor.observe.inspector import Inspector
from ddpdoctor.observe.shifts import Shift
from ddpdoctor.observe.turns import Seen

#: routes that are tried, the most visited first
MOST_ROUTES = 4
#: seconds that the stacks may take, and visits that a rank may make while its own is read
ANSWERING, MOST_VISITS = 1.0, 8


class TurnShift(NamedTuple):
    """A shift in the same turn, and the loop."""

    shift: Shift
    loop: CountedLoop


class TurnLooks:
    """Looks when it is time to, and hands on what was seen. Nothing is looked at where locals must not be read."""

    def __init__(self, inspector: Inspector, history: History) -> None:
        self._inspector = inspector
        self._history = history
        self._loops: dict[tuple[Site, ...], CountedLoop | None] = {}
        #: the process with which the next look begins
        self._next = 0

    def shift(self, workers: Iterable[Worker], now: float) -> TurnShift | None:
        """The shift that a look has shown; None without one, and where nothing was looked at."""
        if not self._inspector.read_locals or self._inspector.native:
            return None
        turns, names = self._history.turns, self._history.names
        found = next(
            (
                (route, group, loop)
                for route, group in turns.routes()[:MOST_ROUTES]
                if (loop := self._loop(route)) is not None
            ),
            None,
        )
        if found is None:
            return None
        route, group, loop = found
        members = {int(member) for member in names.known[group].members}
        ranks = {pid: rank for rank, pid in self._history.pids.items() if rank in members}
        looked_at = tuple(one for one in workers if one.role is Role.RANK and one.pid in ranks)
        if len(looked_at) < len(members) or not turns.is_due(route, now, len(looked_at)):
            return None
        began = _processor_seconds()
        seen = self._look(looked_at, ranks, route, loop)
        turns.pay(_processor_seconds() - began)
        shift = turns.take(route, seen, now, several=loop.comes_again)
        return TurnShift(shift, loop) if shift is not None else None

    def _loop(self, route: int) -> CountedLoop | None:
        path = self._history.names.paths.get(route, ())
        if path not in self._loops:
            self._loops[path] = loop_around(self._inspector.source(path), path)
        return self._loops[path]

    def _look(self, workers: tuple[Worker, ...], ranks: Mapping[int, int], route: int, loop: CountedLoop) -> list[Seen]:
        """The ranks, one after the other, as many as the time is enough for; the next look goes on with the others."""
        found = []
        until = time.monotonic() + ANSWERING
        for worker in (*workers[self._next :], *workers[: self._next]):
            if time.monotonic() >= until:
                self._next = workers.index(worker)
                break
            rank = ranks[worker.pid]
            before = self._visits(worker, rank, route)
            sample = self._inspector.sample((worker,), frozenset({PartKind.STACKS}), deadline=ANSWERING)
            visits = range(before, self._visits(worker, rank, route) + 1)
            seen = next((_seen(main, loop, rank, visits) for main in _main_threads(sample)), None)
            if seen is not None and len(visits) <= MOST_VISITS:
                found.append(seen)
        return found

    def _visits(self, worker: Worker, rank: int, route: int) -> int:
        self._history.read((worker,))
        return self._history.turns.visits(rank, route)


def _processor_seconds() -> float:
    """Of this thread, and of the children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.thread_time() + children.ru_utime + children.ru_stime


def _main_threads(sample: Sample) -> Iterator[Thread]:
    for part in sample.parts:
        with contextlib.suppress(ValueError):
            yield from (one for one in pyspy.parse(part.data).threads if one.os_id == part.pid)


def _seen(main: Thread, loop: CountedLoop, rank: int, visits: range) -> Seen | None:
    """The turn that the rank is in, None if it is not known. `visits`: those that it can have made when the stack was
    read."""
    index = _frame_of(main, loop)
    own = main.local(index, loop.counter.name) if index is not None else None
    if index is None or own is None or own.value is None:
        return None
    begun = loop.counter.begun(own.value, main.frames[index].line)
    if begun is None:
        return None
    return Seen(rank, visits[0], visits[-1], begun, loop.comes_to_it(main.frames[index::-1]))


def _frame_of(main: Thread, loop: CountedLoop) -> int | None:
    """The only frame of the loop's function, if it is in the loop."""
    head = loop.head
    wanted = (head.file, head.plain_function)
    own = [index for index, frame in enumerate(main.frames) if (frame.file, frame.plain_function) == wanted]
    return own[0] if len(own) == 1 and head.line <= main.frames[own[0]].line <= loop.last else None
