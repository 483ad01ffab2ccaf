"""Impure. Which threads of which ranks stand in a call: from the calls in flight on every page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from ddpdoctor.collect import procfs
from ddpdoctor.model.kinds import Kind
from ddpdoctor.model.ranks import Role, Worker
from ddpdoctor.observe.live_page import LivePage
from ddpdoctor.observe.parts import STANDING, Seat, Stand
from ddpdoctor.probe.page import RawCall

#: what a handle is waited for that is met by one peer
_PAIRS = frozenset({"isend", "irecv"})


class LivePages:
    """The pages of a run, each read incrementally."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._pages: dict[int, LivePage] = {}

    def of(self, worker: Worker) -> LivePage:
        page = self._pages.get(worker.pid)
        if page is None:
            page = self._pages[worker.pid] = LivePage(self._run / f"{worker.pid}.page")
        return page

    def forget(self, pids: Iterable[int]) -> None:
        """Drop what was read of these processes' pages: a job of many attempts must not make the watcher grow."""
        for pid in pids:
            self._pages.pop(pid, None)

    def seats(self, workers: Iterable[Worker], now: float) -> tuple[Seat, ...]:
        """Every rank's threads that stand, from pages that `History.read` has read.

        Of a rank that was started again the newer process counts; a rank whose page cannot be read is left out, so that
        nobody who waits for it counts as held.
        """
        found: dict[int, Seat] = {}
        for worker in sorted(workers, key=lambda one: one.started):
            if worker.role is not Role.RANK:
                continue
            try:
                page = self.of(worker)
                known = page.identity()
                if known is not None:
                    found[known[0]] = _seat(page, known, worker.pid, now)
            except (OSError, ValueError):
                continue
        return tuple(found[rank] for rank in sorted(found))


def _seat(page: LivePage, known: tuple[int, int], pid: int, now: float) -> Seat:
    rank = known[0]
    if not procfs.runs(pid):
        return Seat(rank, pid, gone=True)
    calls, communicating = page.calls()
    innermost = {call.thread: call for call in calls}
    users: dict[str, set[int]] = defaultdict(set)
    if not page.lost:
        for thread, group in page.users:
            users[group].add(thread)
    return Seat(
        rank,
        pid,
        stands=tuple(stand for call in innermost.values() if (stand := _stand(known, call, now)) is not None),
        threads=frozenset({pid, *communicating}),
        users={group: frozenset(threads) for group, threads in users.items()},
    )


def _stand(known: tuple[int, int], call: RawCall, now: float) -> Stand | None:
    """The thread that is in this call, if it has been for a while and if others can meet it."""
    rank, world_size = known
    waits = call.kind == Kind.WAIT.value
    if now - call.time < STANDING or call.kind == Kind.STORE.value or (call.asynchronous and not waits):
        return None
    name, _, members = call.group or ("", "", tuple(range(world_size)))
    paired = call.kind in (Kind.SEND.value, Kind.RECV.value) or (waits and call.op in _PAIRS)
    others = {call.peer} if paired and call.peer is not None else set(members)
    return Stand(rank, call.thread, call.op, name, frozenset(others) - {rank}, paired, call.time)
