"""The history of all ranks, over attempts: real pages, of processes that live and end."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from ddpdoctor.model.ranks import Role, Worker
from ddpdoctor.observe import history as history_module
from ddpdoctor.observe.history import History
from ddpdoctor.observe.seats import LivePages
from ddpdoctor.observe.shifts import STEADY
from ddpdoctor.probe import groups
from ddpdoctor.probe import page as layout
from ddpdoctor.probe.writer import CALL_EVENT, CALL_KIND, Operation, PageWriter

RANKS = 3


class Job:
    """Attempts of a job; each process of a rank has a page, which the test writes."""

    def __init__(self, run: Path) -> None:
        self._run = run
        #: of the processes that are started from now on
        self.backend = "gloo"
        self._processes: list[subprocess.Popen[bytes]] = []
        self._writers: dict[int, PageWriter] = {}
        self.workers: list[Worker] = []

    def start(self, rank: int) -> None:
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        self._processes.append(process)
        path = self._run / f"{process.pid}.page"
        identity = {"pid": process.pid, "started_ticks": 1, "rank": rank, "world_size": RANKS, "backend": self.backend}
        self._writers[rank] = PageWriter(str(path), identity)
        self.workers.append(Worker(process.pid, float(len(self.workers)), Role.RANK))

    def meet(self, ranks: Iterable[int], line: int, times: int = 1, *, group: str = "") -> None:
        """Collectives of some ranks at a line, in a group of these ranks or in the default one."""
        ranks = tuple(ranks)
        for writer in (self._writers[rank] for rank in ranks):
            place = writer.text(("/job/train.py", line, "train"))
            at = groups.declare(writer, group, "undefined", ranks) if group else 0
            for _ in range(times):
                slot = writer.slot()
                writer.enter(slot, Operation(CALL_KIND["all"], writer.text("all_reduce"), at), (place, 0), CALL_EVENT)
                writer.leave(slot, 0)

    def enter(self, rank: int, *, group: str) -> None:
        """A collective of two ranks, of which one begins and is not done."""
        writer = self._writers[rank]
        at = groups.declare(writer, group, "undefined", (rank, rank + 1))
        writer.enter(writer.slot(), Operation(CALL_KIND["all"], writer.text("all_reduce"), at), (0, 0), CALL_EVENT)

    def lose_texts(self) -> None:
        """Fill the pages' logs of texts, as thousands of groups do."""
        for writer in self._writers.values():
            number = itertools.count()
            while writer.text(f"{next(number):01000}") or writer.text(f"{next(number)}"):
                pass

    def step(self, times: int) -> None:
        """Steps of all ranks, of two collectives each."""
        for _ in range(times):
            for line in (5, 6):
                self.meet(range(RANKS), line)

    def identify(self, rank: int, **changes: str) -> None:
        self._writers[rank].identify(**changes)

    def end(self) -> None:
        while self._processes:
            self._processes.pop().communicate(b"\n")


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    started = Job(tmp_path)
    yield started
    started.end()


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(LivePages(tmp_path))


def test_ranks_that_are_started_again_one_after_the_other_are_counted_from_their_beginning(
    job: Job, history: History
) -> None:
    for rank in range(RANKS):
        job.start(rank)
    job.meet(range(RANKS), 5, times=40)
    history.read(job.workers)
    job.end()
    # WHEN the pages of the second attempt are read before its last rank has one
    for rank in range(RANKS - 1):
        job.start(rank)
        job.meet(range(rank, rank + 1), 3)
        history.read(job.workers)
    job.start(RANKS - 1)
    job.meet(range(RANKS - 1, RANKS), 3)
    for _ in range(3 * STEADY):
        job.meet(range(RANKS), 5)
        history.read(job.workers)
    # THEN nothing of the first attempt is kept, nobody has shifted, and what the first attempt did is with no rank
    assert history.shifts.found() == ()
    assert history.pids == {rank: worker.pid for rank, worker in enumerate(job.workers[RANKS:])}
    assert [len(history._pages.of(worker).news()) > 0 for worker in job.workers] == [True] * RANKS + [False] * RANKS


def test_a_shift_in_the_second_attempt_is_found(job: Job, history: History) -> None:
    for _ in range(2):
        job.end()
        for rank in range(RANKS):
            job.start(rank)
        job.step(times=20)
        history.read(job.workers)
    job.meet(range(1), 3)
    job.step(times=2 * STEADY)
    history.read(job.workers)
    (found, *_) = history.shifts.found()
    assert found.by == ((0, 1),)


def test_nothing_is_said_of_ranks_that_live_on_beside_one_that_was_started_again(job: Job, history: History) -> None:
    for rank in range(RANKS):
        job.start(rank)
    job.meet(range(RANKS), 5, times=7)
    history.read(job.workers)
    job.start(0)
    job.meet(range(1), 3)
    job.meet(range(RANKS), 5, times=2 * STEADY)
    history.read(job.workers)
    assert history.shifts.found() == ()


def test_a_page_of_a_process_without_a_rank_is_left_out(job: Job, history: History) -> None:
    job.start(-1)
    history.read(job.workers)
    assert history.pids == {}


@pytest.mark.parametrize(
    ("backend", "accelerator", "device"),
    [
        ("gloo", True, False),
        ("", True, False),
        ("nccl", False, True),
        ("cpu:gloo,cuda:nccl", True, True),
        ("cpu:gloo,cuda:nccl", False, False),
    ],
)
def test_hosts_do_not_wait_where_the_backend_is_a_device_s(
    job: Job,
    history: History,
    backend: str,
    accelerator: bool,
    device: bool,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    present = [tmp_path] if accelerator else []
    monkeypatch.setattr(history_module, "_ACCELERATORS", (tmp_path / "none", *present))
    job.backend = backend
    job.start(0)
    history.read(job.workers)
    assert history.arrivals.device is device


def test_a_backend_that_is_known_late_counts(job: Job, history: History) -> None:
    job.backend = ""
    job.start(0)
    history.read(job.workers)
    job.identify(0, backend="nccl")
    history.read(job.workers)
    assert history.arrivals.device


def test_who_meets_in_a_group_that_a_page_has_no_room_for_is_not_known(job: Job, history: History) -> None:
    """Such a group is not the default one: of that, two ranks would have made more collectives than the third."""
    for rank in range(RANKS):
        job.start(rank)
    job.step(times=STEADY)
    job.lose_texts()
    history.read(job.workers)
    met = history.arrivals.waited()
    for number in range(4 * STEADY):
        job.meet(range(2), 7, group=str(number))
        job.step(times=1)
        history.read(job.workers)
    waited = history.arrivals.waited()
    assert met is not None
    assert waited is not None
    assert waited.meetings == met.meetings + 8 * STEADY
    assert waited.share < 0.9
    assert history.shifts.found() == ()


def test_a_thread_in_a_group_that_a_page_has_no_room_for_waits_for_nobody_who_is_known(
    job: Job, tmp_path: Path
) -> None:
    for rank in range(RANKS):
        job.start(rank)
    pages = LivePages(tmp_path)
    job.enter(0, group="1")
    [standing] = [stand for seat in pages.seats(job.workers, time.monotonic() + 60.0) for stand in seat.stands]
    assert standing.group == "1"
    job.lose_texts()
    job.enter(0, group="2")
    [standing] = [stand for seat in pages.seats(job.workers, time.monotonic() + 60.0) for stand in seat.stands]
    assert standing.others == frozenset()


def test_what_was_seen_of_arrivals_stays_when_rows_are_lost(job: Job, history: History) -> None:
    """What comes after the loss cannot be paired: the ranks lose different rows."""
    for rank in range(RANKS):
        job.start(rank)
    job.step(times=STEADY)
    history.read(job.workers)
    before = history.arrivals.waited()
    job.meet(range(1), 5, times=layout.EVENT_ROWS + 9)
    job.step(times=STEADY)
    history.read(job.workers)
    job.step(times=STEADY)
    history.read(job.workers)
    assert before is not None
    assert history.arrivals.waited() == before
