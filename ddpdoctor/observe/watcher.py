"""Impure. Follows a running job: reads its pages, asks the clocks, looks, and hands verdicts on."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ddpdoctor.collect.capture import Sample
from ddpdoctor.collect.gather import read_exits
from ddpdoctor.launch.discovery import Discovery
from ddpdoctor.model.diagnosis import Outcome
from ddpdoctor.model.ranks import Role, Worker
from ddpdoctor.observe import stall
from ddpdoctor.observe.looking import Looker, Verdict
from ddpdoctor.observe.signals import Pages
from ddpdoctor.observe.stall import Decision, Progress

#: seconds between readings of the pages, and between searches for new processes
READING = 0.5
SEARCHING = 3.0
#: seconds for looking at survivors while their launcher waits (it waits 2)
LAST_LOOK = 1.5


class Watcher:
    """One job's watcher. `tick` is called several times a second; `on_verdict` gets what is worth telling."""

    def __init__(
        self,
        looker: Looker,
        pid: int,
        stall_after: float | None,
        on_verdict: Callable[[Verdict], None],
        on_resume: Callable[[float], None],
    ) -> None:
        self._looker = looker
        self._pid = pid
        self._stall_after = stall_after
        self._on_verdict = on_verdict
        self._on_resume = on_resume
        self._discovery = Discovery(looker.run)
        self._pages = Pages(looker.run)
        self._progress = Progress(started=looker.started, moved=looker.started)
        self._known: dict[tuple[int, float], Worker] = {}
        self._searched = self._read = 0.0
        self._told: tuple[object, ...] = ()
        self._exits_seen = 0
        #: what was seen when the first rank failed, before the launcher ended the others
        self._last_sight: tuple[Sample, float] | None = None

    @property
    def run(self) -> Path:
        return self._looker.run

    def ranks(self) -> int:
        """How many ranks have been seen so far."""
        return sum(1 for worker in self._known.values() if worker.role is Role.RANK)

    def tick(self, now: float) -> None:
        """Do what is due at `now` (CLOCK_MONOTONIC)."""
        self._look_at_survivors()
        if now - self._searched >= (SEARCHING if self.ranks() else 2 * READING):
            self._search(now)
        if now - self._read < READING or not self.ranks():
            return
        self._read = now
        self._progress = stall.advance(self._progress, self._pages.pulse(self._workers(), self._progress.moved))
        match stall.decide(self._progress, now, self._stall_after):
            case Decision.RESUMED:
                self._on_resume(self._progress.moved)
                self._progress, self._told = stall.resumed(self._progress), ()
            case Decision.PROVE:
                self._search(now)
                found = self._looker.prove(self._workers(), self._progress.moved)
                self._progress = stall.looked(self._progress, time.monotonic())
                if found is not None:
                    self._tell(found)
            case Decision.STALLED:
                self._search(now)
                self._tell(self._looker.examine(self._workers(), self._progress.moved))
            case Decision.KEEP:
                pass

    def look(self) -> Verdict:
        """Look now, whatever the clocks say."""
        self._search(time.monotonic())
        return self._looker.examine(self._workers(), self._progress.moved)

    def close(self) -> Verdict | None:
        """The verdict on a job that has ended: what was seen of its first failure, else its last pages."""
        if not self._known:
            return None
        if self._last_sight is not None:
            sample, moved = self._last_sight
            return self._looker.examine_samples((sample,), moved)
        return self._looker.examine_samples((self._looker.sample(self._workers()),), self._progress.moved)

    def _workers(self) -> tuple[Worker, ...]:
        return tuple(self._known.values())

    def _search(self, now: float) -> None:
        """Ranks stay known after they are gone: their pages outlive them. Children are only of interest alive."""
        self._searched = now
        kept = {key: worker for key, worker in self._known.items() if worker.role is Role.RANK}
        found = {(w.pid, w.started): w for w in self._discovery.find(self._pid)}
        self._known = kept | found

    def _look_at_survivors(self) -> None:
        """A rank has failed: see the others before their launcher ends them, then let it go on."""
        exits = read_exits(self.run)
        fresh, self._exits_seen = exits[self._exits_seen :], len(exits)
        for ended in fresh:
            if ended.status != 0 and self._last_sight is None:
                if not self._known:
                    self._search(time.monotonic())
                self._last_sight = (self._looker.sample(self._workers(), deadline=LAST_LOOK), self._progress.moved)
            (self.run / f"looked.{ended.pid}").touch()

    def _tell(self, verdict: Verdict) -> None:
        """Hand a verdict on, once: the same answer at the next look is no news."""
        now = time.monotonic()
        self._progress = stall.reported(self._progress, now)
        report = verdict.report
        told = (report.outcome, report.deadlock, tuple((d.code, d.culprits) for d in report.diagnoses[:1]))
        if report.outcome is not Outcome.HEALTHY and told != self._told:
            self._told = told
            self._on_verdict(verdict)
