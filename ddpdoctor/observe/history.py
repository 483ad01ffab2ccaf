"""Impure. The history of all ranks as it grows: read from the pages, and handed on in common numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from ddpdoctor.collect import procfs
from ddpdoctor.collect.page import loader_count
from ddpdoctor.model.progress import LoaderCount
from ddpdoctor.model.ranks import Role, Worker
from ddpdoctor.observe.arrivals import Arrivals
from ddpdoctor.observe.early_signs import Reading, Standing
from ddpdoctor.observe.seats import LivePages
from ddpdoctor.observe.shifts import Loop, Shifts
from ddpdoctor.observe.stream import Names, Translator
from ddpdoctor.observe.thread_orders import ThreadOrders
from ddpdoctor.observe.turns import Turns

#: backends whose collectives the host waits for
_HOST = frozenset({"gloo", "mpi"})
#: there is one of these where there is an accelerator: of NVIDIA's and AMD's drivers
_ACCELERATORS = (Path("/dev/nvidiactl"), Path("/dev/kfd"))


class History:
    """What the ranks did since they were started; begins anew when the launcher has started them again."""

    def __init__(self, pages: LivePages) -> None:
        self._pages = pages
        self._pids: dict[int, int] = {}
        #: processes of ranks that had ended when others were started in their place
        self._ended: set[int] = set()
        #: events on the page that had most of them at the last reading
        self.most_rows = 0
        self._begin()

    def _begin(self) -> None:
        self.names = Names()
        self.arrivals = Arrivals(self.names)
        self.shifts = Shifts(self.names)
        self.orders = ThreadOrders(self.names)
        self.turns = Turns(self.names)
        self._translators: dict[int, Translator] = {}
        self._lost: set[int] = set()

    @property
    def pids(self) -> Mapping[int, int]:
        """The process of each rank."""
        return self._pids

    def read(self, workers: Iterable[Worker]) -> None:
        """Take in what is new on every page."""
        self.most_rows = 0
        for rank, worker in self._newest(workers).items():
            page = self._pages.of(worker)
            try:
                rows = page.news()
                known = page.identity()
            except (OSError, ValueError):
                continue
            if known is None:
                continue
            self.most_rows = max(self.most_rows, len(rows))
            translator = self._translators.get(rank)
            if translator is None:
                translator = self._translators[rank] = Translator(self.names, page.texts, rank, known[1])
            if page.lost and rank not in self._lost:
                self._lost.add(rank)
                self.arrivals.forget()
                self.shifts.forget()
                self.orders.forget()
                self.turns.forget()
            moments = translator.moments(rows)
            self.arrivals.device = self.arrivals.device or _on_device(page.backend)
            self.arrivals.add(rank, moments)
            self.shifts.add(rank, moments)
            self.orders.add(rank, moments, main=worker.pid)
            self.turns.add(rank, moments)

    def loops(self, workers: Iterable[Worker], started: float, now: float) -> list[Reading]:
        """Loops over loaders in which ranks meet, and how each of those ranks stands; without those of which a rank
        cannot be read. `started`: when the job was, on the clock of `now`."""
        found = self.shifts.loops()
        if not found:
            return []
        loaders = self._loaders(workers)
        readings = []
        for loop in found:
            members = [int(member) for member in self.names.known[loop.group].members]
            if all(member in loaders for member in members):
                ranks = {one: self._standing(one, loop, loaders[one], started) for one in members}
                readings.append(Reading(loop.site, ranks, loop.began - started, now - started))
        return readings

    def _standing(self, rank: int, loop: Loop, loaders: tuple[LoaderCount, ...], started: float) -> Standing:
        ends = (end._replace(time=end.time - started) for end in self.shifts.ends(rank, loop.loader))
        return Standing(loaders, self.shifts.collectives(rank, loop.group), tuple(ends))

    def _loaders(self, workers: Iterable[Worker]) -> dict[int, tuple[LoaderCount, ...]]:
        """What the loaders of each rank did, of ranks whose page can be read."""
        ranks = {pid: rank for rank, pid in self._pids.items()}
        found = {}
        for worker in workers:
            if worker.pid in ranks and worker.role is Role.RANK:
                with contextlib.suppress(OSError, ValueError):
                    found[ranks[worker.pid]] = tuple(map(loader_count, self._pages.of(worker).loaders()))
        return found

    def _newest(self, workers: Iterable[Worker]) -> dict[int, Worker]:
        """The process of each rank that has a page, of the newest attempt."""
        found: dict[int, Worker] = {}
        for worker in sorted(workers, key=lambda one: one.started):
            if worker.role is not Role.RANK or worker.pid in self._ended:
                continue
            try:
                known = self._pages.of(worker).identity()
            except (OSError, ValueError):
                continue
            if known is not None:
                found[known[0]] = worker
        if any(self._pids.get(rank, worker.pid) != worker.pid for rank, worker in found.items()):
            found = self._begin_anew(found)
        self._pids.update({rank: worker.pid for rank, worker in found.items()})
        return found

    def _begin_anew(self, found: dict[int, Worker]) -> dict[int, Worker]:
        """Leave out whoever has ended: what the attempt before did is compared with nothing that this one does, though
        its ranks come one after the other. Of ranks that live on nothing is said: the new ones lack their history."""
        self._ended |= {pid for pid in self._pids.values() if not procfs.runs(pid)}
        self._pages.forget(self._ended)
        before, self._pids = self._pids, {}
        self._begin()
        if any(before.get(rank) == worker.pid and worker.pid not in self._ended for rank, worker in found.items()):
            self.shifts.forget()
            self.orders.forget()
            self.turns.forget()
        return {rank: worker for rank, worker in found.items() if worker.pid not in self._ended}


def _on_device(backend: str) -> bool:
    """Whether the host does not wait for the collectives of this backend. torch names one for every kind of device if
    a job names none: "cpu:gloo,cuda:nccl"."""
    names = {part.rpartition(":")[2] for part in backend.split(",")} - {""}
    return bool(names - _HOST) and (not names & _HOST or any(path.exists() for path in _ACCELERATORS))
