"""Impure. What can be told of a job that still moves: a shift of ranks, a part that stands for ever, who is late."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Iterable, Mapping

from ddpdoctor.collect import flight_recorder
from ddpdoctor.collect.assemble import assemble
from ddpdoctor.collect.capture import PartKind
from ddpdoctor.diagnose import shift_cause
from ddpdoctor.diagnose.course import with_course
from ddpdoctor.diagnose.endless_loops import is_joined, takes_again
from ddpdoctor.model.collectives import Recorder
from ddpdoctor.model.course import Course
from ddpdoctor.model.diagnosis import Deadlock, Outcome
from ddpdoctor.model.early_sign import EarlySign
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.ranks import RankSet, Worker
from ddpdoctor.model.report import Report
from ddpdoctor.model.stacks import Site
from ddpdoctor.model.waited import Waited
from ddpdoctor.observe import desync, disorder, parts
from ddpdoctor.observe.desync import Circumstances
from ddpdoctor.observe.early_signs import EarlySigns
from ddpdoctor.observe.history import History
from ddpdoctor.observe.inspector import Inspector, Verdict
from ddpdoctor.observe.parts import Attempts, Seat, Stand
from ddpdoctor.observe.seats import LivePages
from ddpdoctor.observe.shifts import Shift
from ddpdoctor.observe.thread_orders import Crossing
from ddpdoctor.observe.turn_looks import TurnLooks, TurnShift

#: seconds between readings of the ranks' loaders
LOADERS = 1.0
#: seconds until the recorders are read for delays inside backward, thrice as many each time, and at most: it takes some
#: 30 ms of processor for a rank
TIMING, SELDOM = 20.0, 300.0
#: seconds after which no other is asked, and that one answer may take: nothing else is looked at meanwhile
ANSWERING = 1.0


class Early:
    """Follows the history of the ranks; each shift and each part is told once."""

    def __init__(self, inspector: Inspector) -> None:
        self._inspector = inspector
        self._pages = LivePages(inspector.run)
        self._history = History(self._pages)
        self._turn_looks = TurnLooks(inspector, self._history)
        #: the warning that was told
        self._told: Verdict | None = None
        self._signs = EarlySigns()
        self._seen_signs: list[EarlySign] = []
        self._loaders_read = 0.0
        self._sources: dict[Site, tuple[bool, bool]] = {}
        self._attempts = Attempts()
        self._parts_read = 0.0
        self._timed: float | None = None
        self._timing = TIMING
        #: None until somebody asks
        self._waited: Waited | None = None

    @property
    def most_rows(self) -> int:
        """Events on the page that had most of them at the last reading."""
        return self._history.most_rows

    @property
    def looks(self) -> bool:
        """Whether ranks are looked at again and again, because something has given occasion to it."""
        return self._history.turns.wanted

    def read(self, workers: Iterable[Worker]) -> None:
        """Take in what is new on the pages."""
        workers = tuple(workers)
        self._history.read(workers)
        self._waited = None
        now = time.monotonic()
        if not self._history.arrivals.reductions.groups:
            return
        self._timed = now if self._timed is None else self._timed
        if now - self._timed >= self._timing:
            self._timed, self._timing = now, min(3 * self._timing, SELDOM)
            self._time_reductions(workers)

    def _time_reductions(self, workers: tuple[Worker, ...]) -> None:
        """Take in when each rank began its reductions: who comes late out of its own backward is seen nowhere else."""
        ranks = {pid: rank for rank, pid in self._history.pids.items()}
        began = time.monotonic()
        since = time.time() - began
        issued: dict[int, dict[str, dict[int, float]]] = {}
        for worker in workers:
            if worker.pid in ranks and time.monotonic() - began < ANSWERING:
                # one after the other: a recorder has megabytes as JSON, and of that only times are kept
                issued[ranks[worker.pid]] = self._reductions_of(worker, since)
        reductions = self._history.arrivals.reductions
        for group in reductions.groups:
            known = self._history.names.known[group]
            seen = {int(rank): issued[rank].get(known.name, {}) for rank in known.members if rank in issued}
            reductions.take(group, issued_together(seen))

    def _reductions_of(self, worker: Worker, since: float) -> dict[str, dict[int, float]]:
        sample = self._inspector.sample((worker,), frozenset({PartKind.RECORDER}), deadline=ANSWERING)
        with contextlib.suppress(ValueError):
            return issued_by(flight_recorder.parse(sample.parts[0].data), since) if sample.parts else {}
        return {}

    def signs(self, workers: tuple[Worker, ...], now: float) -> list[EarlySign]:
        """Signs that are new: loops over a loader that will not end together."""
        if now - self._loaders_read < LOADERS:
            return []
        self._loaders_read = now
        found = []
        for reading in self._history.loops(workers, self._inspector.started, now):
            goes_round, joins = self._made_for(reading.site)
            found += self._signs.take(dataclasses.replace(reading, goes_round=goes_round, joins=joins))
        self._seen_signs += found
        return found

    def _made_for(self, site: Site) -> tuple[bool, bool]:
        """Whether the loop over a loader goes round, and whether it may be under torch's Join, as its source says."""
        if site not in self._sources:
            code = self._inspector.source([site])
            self._sources[site] = takes_again(code, site), is_joined(code, site)
        return self._sources[site]

    def waited(self) -> Waited | None:
        """Who waited for whom, as of the newest reading."""
        if self._waited is None:
            self._waited = self._history.arrivals.waited()
        return self._waited

    def desync(self, workers: tuple[Worker, ...], now: float, moved: float) -> Verdict | None:
        """The warning that ranks have shifted against each other, the first time that this is seen."""
        if self._told is not None:
            return None
        turned = self._turn_looks.shift(workers, now)
        found: tuple[Crossing | Shift | TurnShift, ...] = (
            *self._history.orders.found(),
            *self._history.shifts.found(),
            *([turned] if turned is not None else []),
        )
        for one in found:
            warning = self._warning(one, workers, now, moved)
            if warning is not None:
                self._told = warning
                return warning
        return None

    def _warning(
        self, found: Crossing | Shift | TurnShift, workers: tuple[Worker, ...], now: float, moved: float
    ) -> Verdict | None:
        sample = self._inspector.sample(workers, frozenset({PartKind.PAGE, PartKind.RECORDER}))
        capture = self._inspector.captured((sample,), now, moved)
        evidence = self._inspector.with_source(assemble(capture))
        shift = found.shift if isinstance(found, TurnShift) else found
        group = self._history.names.known[shift.group]
        recorders = {seen.rank: seen.recorder for seen in evidence.ranks if seen.recorder}
        confirmed = desync.agree(recorders, group.name, RankSet(group.members))
        threads = self._history.orders.shares(shift.group)
        seen = Circumstances(evidence.code, self._inspector.started, now, confirmed, threads=threads)
        if isinstance(found, Crossing):
            report = disorder.report(found, self._history.names, seen)
        elif isinstance(found, TurnShift):
            files = self._inspector.source([found.loop.head])
            seen = dataclasses.replace(seen, code={**files, **seen.code})
            report = desync.report(desync.in_turn(*found, self._history.names), self._history.names, seen)
        else:
            shifted = self._shifted(found, seen, evidence)
            if shifted is None:
                return None
            report = shifted
        course = Course(
            desync=report.desync, warning=report.diagnoses[0], waited=self.waited(), signs=tuple(self._seen_signs)
        )
        report = dataclasses.replace(report, waited=course.waited)
        return Verdict(report, dataclasses.replace(capture, code=evidence.code, course=course))

    def _shifted(self, shift: Shift, seen: Circumstances, evidence: Evidence) -> Report | None:
        """The warning of a shift; None if it may be a batch that was replaced, or collectives that shadow others."""
        names = self._history.names
        apart = desync.find(shift, self._history.shifts, names)
        if desync.is_replaced_batch(apart, names, evidence.code) or desync.is_under_join(names, evidence.code):
            return None
        cause = None if seen.threads else shift_cause.find(evidence, apart.shifted, apart.ways)
        return desync.report(apart, names, dataclasses.replace(seen, cause=cause))

    def part(self, workers: tuple[Worker, ...], now: float) -> Mapping[int, tuple[int, ...]] | None:
        """The threads of each process that stand, if it is time to try to prove that they can never go on; processes
        that stand as a whole are left out. The job as a whole has its own clock."""
        if now - self._parts_read < parts.READING:
            return None
        self._parts_read = now
        seats = self._pages.seats(workers, now)
        found = parts.closed(seats)
        self._attempts, again = parts.notice(self._attempts, found)
        return _threads(seats, found) if again and parts.is_due(self._attempts, now) else None

    def proof(
        self, workers: tuple[Worker, ...], moved: float, threads: Mapping[int, tuple[int, ...]]
    ) -> Verdict | None:
        """The verdict on a part that `part` has given; None if it is not proven."""
        began = time.monotonic()
        verdict = self._inspector.prove(workers, moved, threads)
        proven = verdict is not None and verdict.report.deadlock is Deadlock.PROVEN
        self._attempts = parts.tried(self._attempts, began, time.monotonic(), proven=proven)
        return verdict if proven else None

    def with_course(self, verdict: Verdict) -> Verdict:
        """The verdict with what was seen while the job moved."""
        told, hangs = self._told, verdict.report.outcome is Outcome.HANG
        # a look at a job that goes on is taken for something else than the warning
        warning = told.report.diagnoses[0] if told is not None and hangs else None
        course = Course(
            desync=told.report.desync if told else None,
            warning=warning,
            hangs=hangs,
            waited=self.waited(),
            signs=tuple(self._seen_signs),
        )
        code = {**(told.report.code if warning and told else {}), **verdict.capture.code}
        capture = dataclasses.replace(verdict.capture, course=course, code=code)
        return dataclasses.replace(verdict, report=with_course(verdict.report, course, code), capture=capture)


def issued_by(recorder: Recorder, since: float) -> dict[str, dict[int, float]]:
    """When a rank issued its collectives: group -> number -> CLOCK_MONOTONIC seconds.

    `since`: seconds of the recorder's clock (the time of day) at which CLOCK_MONOTONIC began. Where the host does not
    wait for the device, a late host need not delay anybody, so NCCL's are left out.
    """
    found: dict[str, dict[int, float]] = {}
    for one in recorder.entries:
        if one.backend != "nccl" and not one.p2p:
            found.setdefault(one.group, {})[one.seq] = one.created_ns / 1e9 - since
    return found


def issued_together(seen: Mapping[int, Mapping[int, float]]) -> dict[int, list[float]]:
    """The times of those collectives that all of the recorders still hold, in order."""
    common = sorted(set.intersection(*map(set, seen.values()))) if seen else []
    return {rank: [times[number] for number in common] for rank, times in seen.items()}


def _threads(seats: Iterable[Seat], found: Iterable[Stand]) -> dict[int, tuple[int, ...]]:
    """pid -> the threads that stand, for processes of which another thread that communicates goes on."""
    standing: dict[int, set[int]] = {}
    for stand in found:
        standing.setdefault(stand.rank, set()).add(stand.thread)
    pids = {seat.rank: seat.pid for seat in seats if standing.get(seat.rank, seat.threads) < seat.threads}
    return {pid: tuple(sorted(standing[rank])) for rank, pid in pids.items()}
