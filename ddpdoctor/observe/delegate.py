"""Impure. What the watcher of one node contributes to a meeting: a digest, parts, and the verdict if it leads."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping

from ddpdoctor.collect import procfs
from ddpdoctor.collect.assemble import assemble
from ddpdoctor.collect.capture import Capture, PartKind, Sample
from ddpdoctor.meeting import compact, joint, messages, wire
from ddpdoctor.meeting.compact import Compact
from ddpdoctor.meeting.digest import digest
from ddpdoctor.meeting.episode import MOST_RANKS, classes
from ddpdoctor.meeting.messages import Absent, Digest, Why
from ddpdoctor.model.diagnosis import Location
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.ranks import Rank, RankSet, Role, Worker
from ddpdoctor.model.report import Report
from ddpdoctor.model.stacks import Site
from ddpdoctor.observe.inspector import Inspector, Verdict

#: seconds for a look at ranks that may end at any moment
QUICK = 1.5


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """The verdict as it travels: without source, arguments and environment, which every node has itself."""

    found: Compact
    #: whether some watcher stops the job if this suffices for it
    stops: bool = False


class Eyes:
    """Sees this node's ranks for the others. What it looks at is set by the watcher before each step."""

    def __init__(self, inspector: Inspector, host: str, find: Callable[[], tuple[Worker, ...]], *, stops: bool) -> None:
        """`find` searches for the node's processes: who waits for a child must be seen with it, and children come and
        go. `stops`: whether this watcher stops a job that hangs."""
        self._inspector = inspector
        self._find = find
        self._host = host
        self._stops = stops
        self._node = Rank(0)
        self.workers: tuple[Worker, ...] = ()
        #: CLOCK_MONOTONIC seconds of the last movement of our ranks
        self.moved = 0.0
        #: of the nodes that take part
        self.hosts: Mapping[Rank, str] = {}
        #: the ranks as they were when the first of them failed
        self.sight: Sample | None = None
        #: what was seen for the meeting that goes on
        self._seen: Capture | None = None

    def digest(self, node: Rank, why: Why) -> Digest:
        del why
        self._node, self._seen = node, None
        if self.sight is None:
            self.workers = self._find()
        sample = self.sight or self._inspector.sample(self.workers, frozenset({PartKind.PAGE}))
        evidence = assemble(self._captured((sample,)))
        stopped = RankSet.of(
            w.rank for w in self.workers if w.role is Role.RANK and w.rank is not None and procfs.state(w.pid) == "T"
        )
        return digest(evidence, node, sample.time - self.moved, stopped=stopped, stops=self._stops)

    def parts(self, ranks: RankSet, why: Why) -> bytes | None:
        if self.sight is not None:
            self._seen = self._captured((self.sight,))
            return wire.pack(wire.of_ranks(self._seen, ranks), self._host)
        # again: a compiler, say, lives for a second
        self.workers = self._find()
        if why is Why.FAILURE:
            self._seen = self._captured((self._inspector.sample(self.workers, deadline=QUICK),))
        else:
            self._seen = self._inspector.look_twice(self.workers, self.moved)
        return wire.pack(wire.of_ranks(self._seen, ranks), self._host)

    def judge(self, parts: Mapping[Rank, bytes], absent: tuple[Absent, ...], digests: Mapping[Rank, Digest]) -> bytes:
        captures: dict[Rank, tuple[Capture, str]] = {}
        for node, data in parts.items():
            try:
                captures[node] = wire.unpack(data)
            except ValueError as error:
                absent = (*absent, Absent(str(node), "", f"sent what cannot be read ({error})"))
        own = self._seen or self._captured((self._inspector.sample(self.workers, frozenset({PartKind.PAGE})),))
        captures[self._node] = own, self._host
        evidence = dataclasses.replace(
            joint.join(captures, self._node, absent), command=self._inspector.command, versions=own.versions
        )
        found = self._found(own, evidence, digests)
        return messages.pack(Decision(found, any(one.stops for one in digests.values())))

    def _found(self, own: Capture, evidence: Evidence, digests: Mapping[Rank, Digest]) -> Compact:
        """The verdict on all ranks, of which a few stand for the others if there are many."""
        alike = classes(digests)
        if sum(map(len, alike)) <= MOST_RANKS:
            return Compact(_bare(self._inspector.judged(own, evidence).report))
        standing = compact.Standing.of(evidence.seen(), alike, evidence.world_size)
        report = self._inspector.judged(own, compact.reduced(evidence, standing)).report
        hosts = (compact.Host(str(one.members), self.hosts.get(node, "")) for node, one in digests.items())
        return compact.compacted(_bare(report), standing, hosts)

    def verdict(self, data: bytes) -> Verdict:
        """The verdict that came, with what this node itself knows of it. Raises ValueError for anything else."""
        decision = messages.unpack(Decision, data)
        whole = decision.found.whole()
        own = self._seen or self._captured((self._inspector.sample(self.workers, frozenset({PartKind.PAGE})),))
        local = self._inspector.judged(own)
        report = dataclasses.replace(
            whole,
            command=local.report.command,
            environment=local.report.environment,
            code=self._inspector.source(_places(whole)),
        )
        return Verdict(_with_lines(report), local.capture, stops_elsewhere=decision.stops and not self._stops)

    def _captured(self, samples: tuple[Sample, ...]) -> Capture:
        return self._inspector.captured(samples, time.monotonic(), self.moved)


def _bare(report: Report) -> Report:
    return dataclasses.replace(_quoting(report, lambda _: ""), command=(), environment={}, code={})


def _with_lines(report: Report) -> Report:
    """With the text of the lines that it names, as they are here."""
    lines = {path: source.text.splitlines() for path, source in report.code.items()}
    return _quoting(report, lambda at: _line(lines.get(at.file, []), at.line))


def _quoting(report: Report, quote: Callable[[Location], str]) -> Report:
    """The report with other text of the lines that it names."""

    def quoted(at: Location) -> Location:
        return dataclasses.replace(at, source=quote(at))

    return dataclasses.replace(
        report,
        diagnoses=tuple(
            dataclasses.replace(found, locations=tuple(map(quoted, found.locations))) for found in report.diagnoses
        ),
        ranks=tuple(
            dataclasses.replace(one, location=quoted(one.location)) if one.location else one for one in report.ranks
        ),
    )


def _line(lines: list[str], number: int) -> str:
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def _places(report: Report) -> Iterator[Site]:
    """The places that a report names."""
    named = [at for found in report.diagnoses for at in found.locations]
    named.extend(one.location for one in report.ranks if one.location)
    yield from dict.fromkeys(Site(at.file, at.line, at.function) for at in named)
