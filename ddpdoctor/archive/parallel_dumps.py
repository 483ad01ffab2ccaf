"""Many recorder dumps read at once, by processes that may fail without harm.

Each process reads its share of the files, one after the other, and keeps each distinct operation once; what it sends
back grows with distinct behaviours. It has a limit on memory, and on the time for one file: a file that was made to
break a reader ends that process alone, is named, and the rest of the share is read again without it.
"""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import os
import pickle
import signal
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from ddpdoctor.archive import resource_limits
from ddpdoctor.archive.flight_recorder import Dump, GroupRow, Reader, StepRow, step_of
from ddpdoctor.archive.input_files import File, content
from ddpdoctor.archive.recorder_values import DumpError
from ddpdoctor.collect.redact import plain
from ddpdoctor.merge import crowd as crowds
from ddpdoctor.model.crowd import Crowd, Member, Ring, Step
from ddpdoctor.model.evidence import Gap, Source
from ddpdoctor.model.ranks import Group, Rank, RankSet

#: files that may end a reading process before the rest of its share is given up
MOST_DEATHS = 16
#: nanoseconds between newest operations of ranks that cannot be of one run
OTHER_RUN_NS = 3_600_000_000_000
#: fewer files than this are not worth another process
_SHARE = 16


@dataclass(frozen=True, slots=True)
class Dumps:
    """What a set of files held."""

    members: Mapping[Rank, Member]
    #: the file that each rank's recorder came from
    names: Mapping[Rank, str]
    gaps: tuple[Gap, ...]
    #: ranks that the operations themselves told, and those that only the file's name did
    by_content: RankSet
    by_name: RankSet

    def crowd(self) -> Crowd:
        """All of them as one job."""
        return crowds.complete(self.members)


@dataclass(frozen=True, slots=True)
class _Share:
    """What one process read: its tables, and a dump or a reason for each file."""

    rows: list[StepRow]
    groups: list[GroupRow]
    found: list[Dump | str]


def read_all(files: Sequence[File], rank_of: Callable[[str], int | None], *, processes: int | None = None) -> Dumps:
    """Read all dumps. `rank_of` tells the rank from a file's name where the dump itself does not; never raises."""
    if not files:
        return Dumps({}, {}, (), RankSet(), RankSet())
    count = max(1, min(processes or _processors(), len(files) // _SHARE))
    bounds = [len(files) * n // count for n in range(count + 1)]
    return _joined(files, _shares([files[a:b] for a, b in itertools.pairwise(bounds)]), rank_of)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _shares(shares: Sequence[Sequence[File]]) -> Iterator[_Share]:
    """Every share's outcome, in order; a process that ends early is replaced, without the file that ended it."""
    workers = [_Worker(share) for share in shares]
    done: dict[int, _Share] = {}
    while len(done) < len(workers):
        waiting = {worker.pipe: n for n, worker in enumerate(workers) if n not in done}
        for pipe in wait(list(waiting)):
            number = waiting[pipe]  # type: ignore[index]
            share = workers[number].take()
            if share is not None:
                done[number] = share
    return (done[number] for number in range(len(workers)))


class _Worker:
    """One reading process and what it has to read."""

    def __init__(self, files: Sequence[File]) -> None:
        self._files = files
        self._refused: dict[int, str] = {}
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        self._current = context.RawValue("q", -1)
        self.pipe, sending = context.Pipe(duplex=False)
        self._process = context.Process(
            target=_read_share, args=(self._files, dict(self._refused), self._current, sending), daemon=True
        )
        self._process.start()
        sending.close()

    def take(self) -> _Share | None:
        """Its outcome; None if it ended over a file and another process was started."""
        try:
            received = self.pipe.recv_bytes()
        except (EOFError, OSError):
            received = b""
        self.pipe.close()
        self._process.join()
        if received:
            share: _Share = pickle.loads(received)  # our own process wrote it
            return share
        number = self._current.value
        self._refused[number] = resource_limits.why_ended(
            self._process.exitcode, resource_limits.seconds_for(self._files[number]) if number >= 0 else 0.0
        )
        if number < 0 or len(self._refused) > MOST_DEATHS:
            reason = "not read: too many files of this set ended the process that read them"
            return _Share([], [], [self._refused.get(n, reason) for n in range(len(self._files))])
        self._start()
        return None


def _read_share(files: Sequence[File], refused: dict[int, str], current: Any, sending: Connection) -> None:
    """In the reading process: read, then send everything at once."""
    gc.disable()  # nothing here makes cycles, and looking for them costs a third of the time
    resource_limits.impose()
    reader, found = Reader(), list[Dump | str]()
    for number, file in enumerate(files):
        current.value = number
        signal.setitimer(signal.ITIMER_PROF, resource_limits.seconds_for(file))
        found.append(refused[number] if number in refused else _read_one(reader, file))
    signal.setitimer(signal.ITIMER_PROF, 0)
    sending.send_bytes(pickle.dumps(_Share(reader.rows, reader.groups, found), pickle.HIGHEST_PROTOCOL))
    sending.close()


def _read_one(reader: Reader, file: File) -> Dump | str:
    try:
        data, cut = content(file)
        return cut or reader.read(data)
    except DumpError as error:
        return str(error)
    except MemoryError:
        os._exit(
            resource_limits.OUT_OF_MEMORY
        )  # the unpickler does not give back what it held: begin anew without this file
    except (OSError, EOFError, zlib.error) as error:
        return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _joined(files: Sequence[File], shares: Iterable[_Share], rank_of: Callable[[str], int | None]) -> Dumps:
    """One crowd of all shares: equal operations, rings and groups become one object each."""
    table = _Table()
    members: dict[Rank, Member] = {}
    names: dict[Rank, str] = {}
    gaps: list[Gap] = []
    sources: tuple[list[Rank], list[Rank]] = ([], [])
    remaining = iter(files)
    for share in shares:
        numbers, groups = table.numbers(share.rows), table.groups(share.groups)
        for found, file in zip(share.found, remaining, strict=False):
            name = plain(file.name)
            told = rank_of(name)
            if isinstance(found, str):
                gaps.append(_gap(told, f"{name}: {found}"))
                continue
            rank = found.rank if found.rank is not None else told
            if rank is None:
                gaps.append(_gap(None, f"{name}: neither the dump nor its name says which rank wrote it"))
            elif not found.steps:
                gaps.append(_empty(rank, name))
            elif rank in members and members[Rank(rank)].newest_ns >= found.newest_ns:
                gaps.append(_gap(rank, f"{name}: an older dump of rank {rank}, not used"))
            else:
                if Rank(rank) in members:
                    gaps.append(_gap(rank, f"another dump of rank {rank} is older than {name}, and is not used"))
                members[Rank(rank)] = table.member(Rank(rank), found, numbers, groups)
                names[Rank(rank)] = file.name
                sources[found.rank is None].append(Rank(rank))
    for rank in _stale(members):
        gaps.append(
            _gap(rank, f"{plain(names[rank])}: over an hour older than the others, of an earlier run: not used")
        )
        del members[rank], names[rank]
    by_content, by_name = (RankSet.of(rank for rank in ranks if rank in members) for ranks in sources)
    return Dumps(members, names, tuple(gaps), by_content, by_name)


def _stale(members: Mapping[Rank, Member]) -> list[Rank]:
    """Ranks whose newest operation is far older than most ranks': a job that hangs stops everywhere within minutes."""
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
        f"{name}: the dump holds no operation: the recorder was off, or the rank had issued none",
        "set TORCH_FR_BUFFER_SIZE=2000 (TORCH_NCCL_TRACE_BUFFER_SIZE before torch 2.8)",
    )


class _Table:
    """Operations, rings and groups of all shares, each once."""

    def __init__(self) -> None:
        self._numbers: dict[StepRow, int] = {}
        self._steps: list[Step] = []
        self._rings: dict[tuple[bool, bytes], Ring] = {}
        self._groups: dict[GroupRow, Group] = {}
        self._together: dict[tuple[int, ...], tuple[Group, ...]] = {}

    def numbers(self, rows: Iterable[StepRow]) -> list[int]:
        """This table's number for each of a share's operations."""
        found = []
        for row in rows:
            number = self._numbers.get(row)
            if number is None:
                number = self._numbers[row] = len(self._steps)
                self._steps.append(step_of(row))
            found.append(number)
        return found

    def groups(self, rows: Iterable[GroupRow]) -> list[Group]:
        """The one group for each of a share's rows."""
        return [self._group(row) for row in rows]

    def member(self, rank: Rank, dump: Dump, numbers: Sequence[int], groups: Sequence[Group]) -> Member:
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
        """Ranks with the same groups share one tuple of them."""
        return self._together.setdefault(tuple(map(id, groups)), tuple(groups))

    def _group(self, row: GroupRow) -> Group:
        group = self._groups.get(row)
        if group is None:
            name, members, description = row
            group = self._groups[row] = Group(name, tuple(Rank(rank) for rank in members), description)
        return group
