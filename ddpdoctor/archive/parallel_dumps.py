"""Reads many recorder dumps in parallel, in processes that may fail without harm.

Each process keeps each distinct operation once and sends it once, so the transferred data grows with the number of
distinct behaviours. Memory and the processor time per file are limited: a file that was crafted to break a reader ends
that process alone and is named in a gap; the other files are read by another process.
"""

from __future__ import annotations

import itertools
import os
import signal
import zlib
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ddpdoctor import workers
from ddpdoctor.archive import resource_limits
from ddpdoctor.archive.flight_recorder import GroupRow, RecorderDump, RecorderReader, StepRow, step_of
from ddpdoctor.archive.input_files import InputFile, read_content
from ddpdoctor.archive.recorder_values import DumpError
from ddpdoctor.merge.recorder_set import complete
from ddpdoctor.model.evidence import Gap, Source
from ddpdoctor.model.ranks import Group, Rank, RankSet
from ddpdoctor.model.recorder_set import Member, RecorderSet, Ring, Step
from ddpdoctor.probe.redact import plain

#: files that may end a reading process before the remaining ones are given up
MOST_DEATHS = 16
#: ranks whose newest operations are further apart than this, in nanoseconds, are of different runs
OTHER_RUN_NS = 3_600_000_000_000
#: the fewest files that are worth a process
_SHARE = 16


@dataclass(frozen=True, slots=True)
class Dumps:
    """The content of a set of dump files."""

    members: Mapping[Rank, Member]
    #: the file that each rank's recorder was read from
    names: Mapping[Rank, str]
    gaps: tuple[Gap, ...]
    #: ranks known from the operations, and those known only from the file's name
    by_content: RankSet
    by_name: RankSet

    def recorders(self) -> RecorderSet:
        """All of them as the recorders of one job."""
        return complete(self.members)


@dataclass(frozen=True, slots=True)
class _DumpResult:
    """The result for one file: a dump or the reason why there is none, and the operations and groups that were new in
    it."""

    dump: RecorderDump | str
    rows: list[StepRow]
    groups: list[GroupRow]


@dataclass(frozen=True, slots=True)
class _Reading:
    """What all processes read. A dump's operations and groups are indices into the rows of the process that read it."""

    #: for every file the number of its process, and its dump or the reason why there is none
    dumps: list[tuple[int, RecorderDump | str]]
    rows: defaultdict[int, list[StepRow]]
    groups: defaultdict[int, list[GroupRow]]


def read_all(
    files: Sequence[InputFile], rank_of: Callable[[str], int | None], *, processes: int | None = None
) -> Dumps:
    """Read all dumps. `rank_of` derives the rank from a file's name if the dump does not hold it. Never raises."""
    if not files:
        return Dumps({}, {}, (), RankSet(), RankSet())
    count = max(1, min(processes or workers.processors(), len(files) // _SHARE))
    reading, table, job = _read(files, count), _SharedTables(), _DumpSelection(rank_of)
    numbers = {process: table.numbers(rows) for process, rows in reading.rows.items()}
    groups = {process: table.groups(rows) for process, rows in reading.groups.items()}
    for file, (process, dump) in zip(files, reading.dumps, strict=True):
        if isinstance(dump, str):
            job.refuse(file, dump)
        elif (rank := job.rank_for(file, dump)) is not None:
            job.put(file, dump, table.member(rank, dump, numbers[process], groups[process]))
    return job.dumps()


def _read(files: Sequence[InputFile], processes: int) -> _Reading:
    """Read all files with `processes` processes, until too many of them have ended over a file."""
    bounds = [len(files) * n // processes for n in range(processes + 1)]
    shares = [range(first, last) for first, last in itertools.pairwise(bounds)]
    given_up = "not read: too many files ended the process that read them"
    reading = _Reading([(0, given_up)] * len(files), defaultdict(list), defaultdict(list))
    deaths = 0
    results = workers.each(lambda: _begin(files), shares, processes, smallest=_SHARE)
    for number, result, process in results:
        if isinstance(result, workers.Lost):
            reading.dumps[number] = (process, resource_limits.why_ended(result, files[number]))
            deaths += 1
            if deaths > MOST_DEATHS:
                results.close()
        else:
            reading.dumps[number] = (process, result.dump)
            reading.rows[process] += result.rows
            reading.groups[process] += result.groups
    return reading


def _begin(files: Sequence[InputFile]) -> Callable[[int], _DumpResult]:
    """In the reading process: set the limits, and return what reads one file."""
    resource_limits.impose()
    reader = RecorderReader()

    def read(number: int) -> _DumpResult:
        rows, groups = len(reader.rows), len(reader.groups)
        signal.setitimer(signal.ITIMER_PROF, resource_limits.seconds_for(files[number]))
        dump = _read_one(reader, files[number])
        return _DumpResult(dump, reader.rows[rows:], reader.groups[groups:])

    return read


def _read_one(reader: RecorderReader, file: InputFile) -> RecorderDump | str:
    try:
        data, cut = read_content(file)
        return cut or reader.read(data)
    except DumpError as error:
        return str(error)
    except MemoryError:
        # the unpickler does not release what it held: a new process continues with the next file
        os._exit(resource_limits.OUT_OF_MEMORY)
    except (OSError, EOFError, zlib.error) as error:
        return getattr(error, "strerror", None) or str(error) or type(error).__name__


class _DumpSelection:
    """The dumps of one job: the newest for each rank, and a gap for each file that is not used."""

    def __init__(self, rank_of: Callable[[str], int | None]) -> None:
        self._rank_of = rank_of
        self._members: dict[Rank, Member] = {}
        self._names: dict[Rank, str] = {}
        self._by_content: dict[Rank, bool] = {}
        self._gaps: list[Gap] = []

    def refuse(self, file: InputFile, reason: str) -> None:
        """Note a file that holds no dump."""
        name = plain(file.name)
        self._gaps.append(_gap(self._rank_of(name), f"{name}: {reason}"))

    def rank_for(self, file: InputFile, dump: RecorderDump) -> Rank | None:
        """The rank of a dump; None if it is not used, for a reason that is noted as a gap."""
        name = plain(file.name)
        number = dump.rank if dump.rank is not None else self._rank_of(name)
        if number is None:
            self._gaps.append(_gap(None, f"{name}: neither the dump nor the file's name states the rank"))
            return None
        rank = Rank(number)
        known = self._members.get(rank)
        if not dump.steps:
            self._gaps.append(_empty(rank, name))
            return None
        if known is not None and known.newest_ns >= dump.newest_ns:
            self._gaps.append(_gap(rank, f"{name}: an older dump of rank {rank}, not used"))
            return None
        if known is not None:
            self._gaps.append(_gap(rank, f"another dump of rank {rank} is older than {name}, and is not used"))
        return rank

    def put(self, file: InputFile, dump: RecorderDump, member: Member) -> None:
        """Take the dump of a rank, in place of an older one."""
        self._members[member.rank] = member
        self._names[member.rank] = file.name
        self._by_content[member.rank] = dump.rank is not None

    def dumps(self) -> Dumps:
        """All of them, without those of an earlier run."""
        for rank in _stale(self._members):
            name = plain(self._names.pop(rank))
            self._gaps.append(_gap(rank, f"{name}: over an hour older than the others, of an earlier run: not used"))
            del self._members[rank], self._by_content[rank]
        by_content = RankSet.of(rank for rank, known in self._by_content.items() if known)
        by_name = RankSet.of(self._members) - by_content
        return Dumps(self._members, self._names, tuple(self._gaps), by_content, by_name)


def _stale(members: Mapping[Rank, Member]) -> list[Rank]:
    """Ranks whose newest operation is far older than the median: a job that hangs stops everywhere within minutes."""
    times = sorted(member.newest_ns for member in members.values() if member.newest_ns > 0)
    if not times:
        return []
    limit = times[len(times) // 2] - OTHER_RUN_NS
    return [rank for rank, member in members.items() if 0 < member.newest_ns < limit]


def _gap(rank: int | None, reason: str) -> Gap:
    return Gap(Source.RECORDER, None if rank is None else Rank(rank), reason)


def _empty(rank: int, name: str) -> Gap:
    return Gap(
        Source.RECORDER,
        Rank(rank),
        f"{name}: the dump is empty: the recorder was off, or the rank had issued no operation",
        "set TORCH_FR_BUFFER_SIZE=2000 (TORCH_NCCL_TRACE_BUFFER_SIZE before torch 2.8)",
    )


class _SharedTables:
    """Operations, rings and groups of all processes, each kept once."""

    def __init__(self) -> None:
        self._numbers: dict[StepRow, int] = {}
        self._steps: list[Step] = []
        self._rings: dict[tuple[bool, bytes], Ring] = {}
        self._groups: dict[GroupRow, Group] = {}
        self._together: dict[tuple[int, ...], tuple[Group, ...]] = {}

    def numbers(self, rows: Iterable[StepRow]) -> list[int]:
        """The index in this table of each of a process's operations."""
        found = []
        for row in rows:
            number = self._numbers.get(row)
            if number is None:
                number = self._numbers[row] = len(self._steps)
                self._steps.append(step_of(row))
            found.append(number)
        return found

    def groups(self, rows: Iterable[GroupRow]) -> list[Group]:
        """The shared group for each of a process's rows."""
        return [self._group(row) for row in rows]

    def member(self, rank: Rank, dump: RecorderDump, numbers: Sequence[int], groups: Sequence[Group]) -> Member:
        own = array("I", [numbers[number] for number in dump.steps])
        ring = self._ring(own, dump.truncated)
        own_groups = self._grouped([groups[number] for number in dump.groups])
        return Member(rank, ring, own_groups, dump.newest_ns, dump.version)

    def _ring(self, numbers: array[int], truncated: bool) -> Ring:
        key = (truncated, numbers.tobytes())
        ring = self._rings.get(key)
        if ring is None:
            ring = self._rings[key] = Ring(tuple([self._steps[number] for number in numbers]), truncated)
        return ring

    def _grouped(self, groups: Sequence[Group]) -> tuple[Group, ...]:
        """Ranks with the same groups share one tuple."""
        return self._together.setdefault(tuple(map(id, groups)), tuple(groups))

    def _group(self, row: GroupRow) -> Group:
        group = self._groups.get(row)
        if group is None:
            name, members, description = row
            group = self._groups[row] = Group(name, tuple(Rank(rank) for rank in members), description)
        return group
