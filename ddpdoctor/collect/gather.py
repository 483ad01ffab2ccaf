"""One sample of every process of the job: all sources in parallel, each with its own deadline; nothing is raised."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

from ddpdoctor.collect import faulthandler, flight_recorder, missing_page, noted_stacks, procfs, pyspy
from ddpdoctor.collect.capture import Gone, Part, PartKind, Sample
from ddpdoctor.collect.holders import Holders
from ddpdoctor.collect.page import PENDING_BYTES, decode_lock_files, read_file
from ddpdoctor.model.evidence import Gap, Source
from ddpdoctor.model.ranks import Role, Worker
from ddpdoctor.model.stacks import StackSource

EVERYTHING = frozenset(PartKind)

#: py-spy runs as one process per target; more at once would only compete for the cores
_AT_ONCE = 8

_SOURCES = {
    PartKind.PAGE: Source.PAGES,
    PartKind.RECORDER: Source.RECORDER,
    PartKind.STACKS: Source.STACKS,
    PartKind.PROCESS: Source.PROCESSES,
    PartKind.FATAL: Source.FAULTHANDLER,
}


def take_sample(
    workers: tuple[Worker, ...],
    run: Path,
    kinds: frozenset[PartKind] = EVERYTHING,
    *,
    deadline: float = 5.0,
    stacks: Callable[[Worker], bytes | Gap | None] = pyspy.fetch,
) -> Sample:
    """Collect `kinds` of every worker within `deadline` seconds; whatever is not available in time becomes a Gap.

    Workers that have ended are included: their pages and fatal-signal texts outlive them.
    """
    jobs: list[tuple[PartKind, Worker, Future[bytes | Gap | None]]] = []
    holders = Holders()
    pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="ddpdoctor-collect")
    try:
        # the fastest first: pages and /proc take microseconds, and a process that is being ended does not wait for
        # py-spy
        for kind in (PartKind.PAGE, PartKind.PROCESS, PartKind.FATAL, PartKind.RECORDER, PartKind.STACKS):
            for worker in workers if kind in kinds else ():
                fetch = _fetcher(kind, worker, run, stacks, holders)
                if fetch is not None:
                    jobs.append((kind, worker, pool.submit(fetch)))
        wait([future for _, _, future in jobs], timeout=deadline)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    parts: list[Part] = []
    gaps: list[Gap] = []
    for kind, worker, future in jobs:
        taken = _outcome(kind, worker, future, deadline)
        if isinstance(taken, Gap):
            gaps.append(taken)
            if kind is PartKind.STACKS and (own := noted_stacks.fetch(run, worker.pid)):
                parts.append(Part(kind, worker.pid, own, StackSource.PROBE.value))
        elif taken is not None:
            source = StackSource.PYSPY_NONBLOCKING.value if kind is PartKind.STACKS else ""
            parts.append(Part(kind, worker.pid, taken, source))
    return Sample(time.monotonic(), workers, tuple(parts), tuple(gaps), tuple(_gone(workers)))


def _gone(workers: tuple[Worker, ...]) -> Iterator[Gone]:
    for worker in workers:
        if worker.role is Role.RANK and not procfs.runs(worker.pid):
            yield Gone(worker.pid, procfs.exit_status(worker.pid))


def _fetcher(
    kind: PartKind,
    worker: Worker,
    run: Path,
    stacks: Callable[[Worker], bytes | Gap | None],
    holders: Holders,
) -> Callable[[], bytes | Gap | None] | None:
    """A function that fetches one part of one process; None if there is nothing to fetch."""
    if worker.role is Role.LAUNCHER:
        return None
    state = procfs.state(worker.pid)
    alive = procfs.runs(worker.pid)
    match kind:
        case PartKind.PAGE:
            return (lambda: _page(worker, run)) if worker.role is Role.RANK else None
        case PartKind.FATAL:
            return lambda: faulthandler.fetch(run / f"{worker.pid}.fatal") or None
        case PartKind.RECORDER if state in ("T", "t") and worker.role is Role.RANK:
            return lambda: Gap(Source.RECORDER, worker.rank, "a stopped process cannot answer")
        case PartKind.RECORDER if alive and worker.role is Role.RANK:
            return lambda: flight_recorder.fetch(worker, run / f"{worker.pid}.sock")
        case PartKind.PROCESS if alive:
            return lambda: procfs.fetch(worker, holders=holders, lock_files=_lock_files(worker, run))
        case PartKind.STACKS if alive:
            return lambda: stacks(worker)
    return None


def _page(worker: Worker, run: Path) -> bytes | Gap:
    try:
        return read_file(run / f"{worker.pid}.page")
    except FileNotFoundError:
        return missing_page.missing_page_gap(worker)
    except (OSError, ValueError) as error:
        return Gap(Source.PAGES, worker.rank, f"the page cannot be read: {error}")


def _lock_files(worker: Worker, run: Path) -> tuple[str, ...]:
    """Lock files that the rank polls for, as its page states."""
    try:
        with (run / f"{worker.pid}.page").open("rb") as page:
            return decode_lock_files(page.read(PENDING_BYTES))
    except (OSError, ValueError):
        return ()


def _outcome(kind: PartKind, worker: Worker, future: Future[bytes | Gap | None], deadline: float) -> bytes | Gap | None:
    if not future.done() or future.cancelled():
        return Gap(_SOURCES[kind], worker.rank, f"no answer within {deadline:g} s")
    error = future.exception()
    if error is not None:
        return Gap(_SOURCES[kind], worker.rank, f"{type(error).__name__}: {error}")
    return future.result()
