"""Impure. Examines a job: samples, evidence, verdict."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from ddpdoctor.collect import about_to_note, pyspy, source_files
from ddpdoctor.collect.assemble import assemble
from ddpdoctor.collect.capture import Capture, PartKind, Sample
from ddpdoctor.collect.exits import read_exits
from ddpdoctor.collect.frame_locals import kept
from ddpdoctor.collect.gather import EVERYTHING, take_sample
from ddpdoctor.collect.memory_kills import memory_kills
from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Deadlock, Outcome
from ddpdoctor.model.evidence import Evidence, Gap, SourceFile, Timing
from ddpdoctor.model.processes import Exit, JobEnd
from ddpdoctor.model.ranks import Worker
from ddpdoctor.model.report import Report
from ddpdoctor.model.stacks import Site

#: seconds between the two samples that distinguish a blocked process from a working one
BETWEEN = 0.8
#: samples of one look over several seconds
MOST_SAMPLES = 8


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """A report and the capture it is based on; of a joint verdict the part that this node saw."""

    report: Report
    capture: Capture
    #: the watcher of another node stops the job, if this suffices for it
    stops_elsewhere: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Inspector:
    """Examines one job repeatedly. `started` is CLOCK_MONOTONIC, `started_wall` seconds since the epoch."""

    run: Path
    command: tuple[str, ...]
    versions: Mapping[str, str]
    environment: Mapping[str, str]
    started: float
    started_wall: float
    native: bool = False
    #: ask py-spy for locals, of which only those that `frame_locals` names are kept
    read_locals: bool = False
    #: takes the stacks of one process, if not as `native` says
    stacks: Callable[[Worker], bytes | Gap | None] | None = None
    #: folder under which the job's files are: another one in a container
    root: str = ""
    #: what a sample has of each process unless said otherwise
    kinds: frozenset[PartKind] = EVERYTHING
    #: `memory_kills()` when the job was started, None where that is not known
    kills_before: int | None = None
    #: the only threads of processes that are looked at, see Capture
    threads: Mapping[int, tuple[int, ...]] = dataclasses.field(default_factory=dict)

    def sample(
        self, workers: tuple[Worker, ...], kinds: frozenset[PartKind] | None = None, *, deadline: float = 5.0
    ) -> Sample:
        keep = kept if self.read_locals else None
        stacks = self.stacks or functools.partial(pyspy.fetch, native=self.native, keep=keep)
        return take_sample(workers, self.run, kinds or self.kinds, deadline=deadline, stacks=stacks)

    def look_twice(self, workers: tuple[Worker, ...], last_progress: float) -> Capture:
        """Two samples, a moment apart."""
        detected = time.monotonic()
        first = self.sample(workers)
        return self.captured((first, self._second(workers, first)), detected, last_progress)

    def prove(
        self,
        workers: tuple[Worker, ...],
        last_progress: float,
        threads: Mapping[int, tuple[int, ...]] = MappingProxyType({}),
    ) -> Verdict | None:
        """What two samples show of a job in which ranks wait for others; else None. If none does, the pages alone show
        that, which is the usual case. `threads`: see Capture."""
        detected = time.monotonic()
        looker = dataclasses.replace(self, threads=threads)
        for kinds in (frozenset({PartKind.PAGE}), EVERYTHING):
            first = looker.sample(workers, kinds)
            if looker._examined((first,), detected, last_progress).report.deadlock is Deadlock.NO:
                return None
        return looker._again(workers, first, detected, last_progress)

    def examine(
        self,
        workers: tuple[Worker, ...],
        last_progress: float,
        *,
        since: Sample | None = None,
        within: float | None = None,
    ) -> Verdict:
        """The verdict from two samples, whatever it is: a moment apart, or the first of them taken earlier, `since`
        which the second shows what has moved. With `within`, both are taken in so many seconds."""
        detected = time.monotonic()
        if within is None:
            return self._again(workers, since or self.sample(workers), detected, last_progress)
        first = since or self.sample(workers, deadline=within / 3)
        time.sleep(within / 3)
        return self._examined((first, self.sample(workers, deadline=within / 3)), detected, last_progress)

    def examine_samples(
        self,
        samples: tuple[Sample, ...],
        last_progress: float,
        exits: tuple[Exit, ...] = (),
        end: JobEnd | None = None,
    ) -> Verdict:
        """The verdict from samples taken earlier, when the first rank died.

        `exits` are those that the probe in the launcher did not record: the supervisor's own child.
        """
        return self._examined(samples, samples[-1].time, last_progress, exits, end)

    def samples_over(
        self, workers: Callable[[], tuple[Worker, ...]], seconds: float, since: Sample | None = None
    ) -> tuple[Sample, ...]:
        """Samples over so many seconds: the more there are, the less a rank that works in long sleeps looks like one
        that is blocked. `workers` are found anew for each; `since` is a sample of an earlier look."""
        began = time.monotonic()
        number = max(2, min(MOST_SAMPLES, 1 + round(seconds / BETWEEN)))
        samples: list[Sample] = [since] if since else []
        for i in range(number):
            time.sleep(max(0.0, began + seconds * i / (number - 1) - time.monotonic()))
            samples.append(self.sample(workers()))
        return tuple(samples)

    def _again(self, workers: tuple[Worker, ...], first: Sample, detected: float, last_progress: float) -> Verdict:
        return self._examined((first, self._second(workers, first)), detected, last_progress)

    def _second(self, workers: tuple[Worker, ...], first: Sample) -> Sample:
        """The sample after `first`: a moment later, or once ranks that nobody may read have noted their own stacks."""
        time.sleep(max(0.0, first.time + BETWEEN - time.monotonic()))
        about_to_note.wait(first, self.run)
        return self.sample(workers)

    def _examined(
        self,
        samples: tuple[Sample, ...],
        detected: float,
        last_progress: float,
        exits: tuple[Exit, ...] = (),
        end: JobEnd | None = None,
    ) -> Verdict:
        return self.judged(self.captured(samples, detected, last_progress, exits, end))

    def captured(
        self,
        samples: tuple[Sample, ...],
        detected: float,
        last_progress: float,
        exits: tuple[Exit, ...] = (),
        end: JobEnd | None = None,
    ) -> Capture:
        """The samples with what belongs to the run as a whole."""
        return Capture(
            samples=samples,
            timing=Timing(self.started, last_progress, detected, time.monotonic()),
            exits=(*read_exits(self.run), *exits),
            command=self.command,
            versions=self.versions,
            environment=self.environment,
            end=end,
            memory_kills=self._memory_kills(),
            threads=self.threads,
        )

    def judged(self, capture: Capture, evidence: Evidence | None = None) -> Verdict:
        """The verdict on this capture, or on evidence of which it is a part, with the source that is here."""
        evidence = self.with_source(assemble(capture) if evidence is None else evidence)
        return Verdict(examine(evidence), dataclasses.replace(capture, code=evidence.code))

    def with_source(self, evidence: Evidence) -> Evidence:
        """The evidence with the files that it names and those that these import, as they are here."""
        files = source_files.read(source_files.sites(evidence), started=self.started_wall, root=self.root)
        files |= source_files.imported_by(files, started=self.started_wall, root=self.root)
        return dataclasses.replace(evidence, code=files)

    def source(self, places: Iterable[Site]) -> dict[str, SourceFile]:
        """The files of these places, as they are here."""
        return source_files.read(places, started=self.started_wall, root=self.root)

    def _memory_kills(self) -> int:
        now = memory_kills()
        return 0 if now is None or self.kills_before is None else max(0, now - self.kills_before)


def needs_no_patience(report: Report) -> bool:
    """Whether more time would show nothing else: a deadlock is proven, or a process is stopped, which continues only if
    somebody tells it to."""
    stopped = any(rank.state == Activity.STOPPED.value for rank in report.ranks)
    return report.deadlock is Deadlock.PROVEN or (report.outcome is Outcome.HANG and stopped)
