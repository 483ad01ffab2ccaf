"""Finds the processes of a job: launchers, ranks, and the ranks' children, whatever launched them."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from ddpdoctor.collect.folder_changes import FolderChanges
from ddpdoctor.collect.page import IDENTITY_BYTES, Identity, decode_identity
from ddpdoctor.model.ranks import Rank, Role, Worker

_WANTED = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_NUMBER = re.compile(r"\d+")
#: seconds after its start at which a process no longer has its parent's environment (fork, then exec)
_SETTLED = 2.0


@dataclass(frozen=True, slots=True)
class _LiveProcess:
    """A live process and what it shows of its role in the job."""

    pid: int
    parent: int
    ticks: int
    command: tuple[str, ...]
    environ: Mapping[str, str]
    page: Identity | None
    python: bool

    @property
    def place(self) -> tuple[str | None, str | None]:
        return self.environ.get("RANK"), self.environ.get("LOCAL_RANK")

    @property
    def candidate(self) -> bool:
        """Whether it may be a rank: it has a page, or RANK in its environment."""
        return self.page is not None or _number(self.environ.get("RANK")) is not None


class Discovery:
    """Finds the processes of a job repeatedly; constant properties of a process are read once."""

    def __init__(self, run: Path | None) -> None:
        self._run = run
        self._facts: dict[tuple[int, int], tuple[dict[str, str], tuple[str, ...], bool]] = {}
        self._identities: dict[str, tuple[int, Identity]] = {}
        self._names: frozenset[str] = frozenset()
        self._changes = FolderChanges(run) if run is not None else None

    def changed(self) -> bool:
        """Whether there are new pages since the last `find`; lists one small folder, if it has changed."""
        return self._changes is not None and self._changes.any() and self._page_names() != self._names

    def find(self, *root_pids: int) -> tuple[Worker, ...]:
        """The process trees of `root_pids`, and every rank that has a page, alive or not, of the newest attempt.

        A page identifies a rank also under mp.spawn and fork, where the environment does not, and also a rank that has
        ended or has another parent by now. Without a page RANK in the environment counts: in the process nearest to the
        root that has it, unless its descendants have another RANK (a launcher that was itself given RANK as the node's
        number) or a page. Ranks that are missing then are the siblings of the known ones, if their numbers fit.
        """
        pages = {identity.pid: identity for identity in self._read_pages()}
        family: dict[int, _LiveProcess] = {}
        for pid in (*root_pids, *pages):
            for process in _unseen(pid, family):
                with contextlib.suppress(psutil.Error, OSError, ValueError):
                    if pid in root_pids or _is(pages[pid]):
                        family[process.pid] = self._see(process, pages)
        # data workers come and go for days
        alive = {(seen.pid, seen.ticks) for seen in family.values()}
        self._facts = {key: facts for key, facts in self._facts.items() if key in alive}
        dead = [identity for identity in pages.values() if identity.pid not in family and identity.rank >= 0]
        living = [*_classified(family)]
        return tuple(_with_late_ranks([*living, *not_replaced(map(_dead_rank, dead), living)], family))

    def _see(self, process: psutil.Process, pages: Mapping[int, Identity]) -> _LiveProcess:
        pid = process.pid
        parent, ticks = _parent_and_ticks(pid)
        known = self._facts.get((pid, ticks))
        if known is None:
            environ = {name: value for name, value in _environ(process).items() if name in _WANTED}
            known = environ, tuple(process.cmdline()), _is_python(process)
            if now() - _started(ticks) > _SETTLED:
                self._facts[pid, ticks] = known
        environ, command, python = known
        page = pages.get(pid)
        if page is not None and (page.started_ticks != ticks or page.rank < 0):
            page = None
        return _LiveProcess(pid, parent, ticks, command, environ, page, python)

    def _page_names(self) -> frozenset[str]:
        if self._run is None:
            return frozenset()
        try:
            with os.scandir(self._run) as entries:
                return frozenset(entry.name for entry in entries if entry.name.endswith(".page"))
        except OSError:
            if self._changes is not None:
                self._changes.forget()
            return frozenset()

    def _read_pages(self) -> Iterator[Identity]:
        """The identities of all pages; a page that states its rank is read once, as long as the file is the same."""
        self._names = self._page_names()
        for name in sorted(self._names):
            assert self._run is not None
            with contextlib.suppress(OSError, ValueError):
                with (self._run / name).open("rb") as file:
                    inode = os.fstat(file.fileno()).st_ino
                    known = self._identities.get(name)
                    if known is None or known[0] != inode or known[1].rank < 0:
                        known = self._identities[name] = inode, decode_identity(file.read(IDENTITY_BYTES))
                yield known[1]
        self._identities = {name: known for name, known in self._identities.items() if name in self._names}


def _classified(family: Mapping[int, _LiveProcess]) -> Iterator[Worker]:
    """Assign roles, parents before children. `owner` is the rank's process that a process is or descends from."""
    below = _descendants(family)
    owner: dict[int, int] = {}
    for seen in family.values():
        above = owner.get(seen.parent)
        is_rank = seen.page is not None or (
            above is None and seen.candidate and not any(_outranks(other, seen) for other in below[seen.pid])
        )
        if is_rank:
            owner[seen.pid] = seen.pid
        elif above is not None:
            owner[seen.pid] = above
        yield _worker(seen, is_rank, above)


def _with_late_ranks(workers: list[Worker], family: Mapping[int, _LiveProcess]) -> Iterator[Worker]:
    """The ranks that have neither a page nor RANK yet: processes that were started as the known ranks were.

    Under mp.spawn a process learns its rank from its arguments, and its page is made in init_process_group. Until then
    it counts as one of the missing ranks if there are as many such processes, in the order of LOCAL_RANK or else in
    that in which they were started, as mp.spawn starts them.
    """
    known = [worker for worker in workers if worker.role is Role.RANK and worker.rank is not None]
    size = max((worker.world_size or 0 for worker in known), default=0)
    missing = sorted(set(range(size)) - {worker.rank for worker in known})
    late = [w for w in workers if w.role is not Role.RANK and (_is_sibling(w, known) or _is_started_by_rank(w, family))]
    places: dict[int, Rank] = {}
    if len(late) == len(missing):
        late.sort(key=lambda worker: (_local_rank(worker.pid, family) or 0, worker.started, worker.pid))
        places = {worker.pid: Rank(rank) for worker, rank in zip(late, missing, strict=True)}
    for worker in workers:
        rank = places.get(worker.pid)
        local = _local_rank(worker.pid, family)
        late_rank = replace(worker, role=Role.RANK, rank=rank, local_rank=local, world_size=size)
        yield worker if rank is None else late_rank


def _is_sibling(worker: Worker, known: list[Worker]) -> bool:
    """Whether the parent of a known rank has started it with the same command, numbers aside."""
    shape = _shape(worker.command)
    return worker.role is Role.LAUNCHER and any(
        (rank.parent, _shape(rank.command)) == (worker.parent, shape) for rank in known if rank.command
    )


def _is_started_by_rank(worker: Worker, family: Mapping[int, _LiveProcess]) -> bool:
    """Whether a rank has started it as another one, as Lightning starts the ranks of a node.

    It runs the same program and is told only its number on the node. A helper runs another program, or has what the
    rank's environment says of the rank itself.
    """
    seen, rank = family.get(worker.pid), family.get(worker.parent or 0)
    given = _local_rank(worker.pid, family)
    if worker.role is not Role.CHILD or seen is None or rank is None or given is None or seen.parent != rank.pid:
        return False
    other = "RANK" not in seen.environ and given != _local_rank(rank.pid, family)
    return other and _program(seen) == _program(rank)


def _program(process: _LiveProcess) -> tuple[str, ...]:
    """What the interpreter is told to run, by its name: the same script may be named by an absolute path."""
    return tuple(Path(argument).name for argument in process.command[1:])


def _local_rank(pid: int | None, family: Mapping[int, _LiveProcess]) -> int | None:
    """LOCAL_RANK as the process was given it."""
    seen = family.get(pid) if pid is not None else None
    return _number(seen.environ.get("LOCAL_RANK")) if seen else None


def _shape(command: tuple[str, ...]) -> tuple[str, ...]:
    """A command line without its numbers: pipes' descriptors, ports, `--rank 1`."""
    return tuple(_NUMBER.sub("#", word) for word in command)


def _outranks(below: _LiveProcess, seen: _LiveProcess) -> bool:
    """Whether the descendant is the rank rather than this process: below a launcher with RANK, or a shell around one
    rank."""
    if not below.candidate or seen.page is not None:
        return False
    return below.page is not None or below.place != seen.place or (below.python and not seen.python)


def _descendants(family: Mapping[int, _LiveProcess]) -> dict[int, list[_LiveProcess]]:
    below: dict[int, list[_LiveProcess]] = {pid: [] for pid in family}
    for seen in family.values():
        parent = seen.parent
        while parent in below:
            below[parent].append(seen)
            parent = family[parent].parent
    return below


def _worker(seen: _LiveProcess, is_rank: bool, above: int | None) -> Worker:
    role = Role.RANK if is_rank else Role.CHILD if above is not None else Role.LAUNCHER
    rank = _number(seen.environ.get("RANK")) if seen.page is None else seen.page.rank
    world = _number(seen.environ.get("WORLD_SIZE")) if seen.page is None else seen.page.world_size
    return Worker(
        pid=seen.pid,
        started=_started(seen.ticks),
        role=role,
        rank=Rank(rank) if is_rank and rank is not None else None,
        local_rank=_number(seen.environ.get("LOCAL_RANK")) if is_rank else None,
        world_size=world if is_rank else None,
        parent=above if role is Role.CHILD else seen.parent,
        command=seen.command,
    )


def not_replaced(ended: Iterable[Worker], living: Iterable[Worker]) -> list[Worker]:
    """Those of the ranks that have ended that are of the newest attempt: nobody needs what earlier ones have left, and
    after a hundred restarts their pages are hundreds of megabytes.

    An attempt is over once younger processes have places of its ranks and none of it lives; the next may have fewer
    ranks. Where some of it live on, only a rank of which another process has the place is left out.
    """
    ended, alive = [*ended], [worker for worker in living if worker.role is Role.RANK]
    youngest: dict[Rank, float] = {}
    for worker in (*ended, *alive):
        if worker.rank is not None:
            youngest[worker.rank] = max(worker.started, youngest.get(worker.rank, 0.0))
    kept = [worker for worker in ended if worker.rank is None or worker.started >= youngest[worker.rank]]
    began = min((youngest[w.rank] for w in ended if w.rank is not None and w not in kept), default=0.0)
    if any(worker.started < began for worker in alive):
        return kept
    return [worker for worker in kept if worker.started >= began]


def _dead_rank(identity: Identity) -> Worker:
    return Worker(
        pid=identity.pid,
        started=_started(identity.started_ticks),
        role=Role.RANK,
        rank=identity.rank,
        world_size=identity.world_size,
    )


def _unseen(pid: int, family: Mapping[int, _LiveProcess]) -> list[psutil.Process]:
    """What is not known yet of a process and its descendants. One that is known is known with all that it has started:
    to look for those reads the files of all processes of the machine."""
    return [] if pid in family else [process for process in _family(pid) if process.pid not in family]


def _family(pid: int) -> list[psutil.Process]:
    """A process and all its descendants, parents first; empty if it has ended."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []


def _is(identity: Identity) -> bool:
    """Whether the process that wrote the page is alive, rather than another one with its pid."""
    try:
        return _parent_and_ticks(identity.pid)[1] == identity.started_ticks
    except (OSError, ValueError):
        return False


def _parent_and_ticks(pid: int) -> tuple[int, int]:
    """proc(5): fields 4 and 22 of stat. The name before them may contain spaces and parentheses."""
    fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    if len(fields) < 20:
        raise ValueError(f"/proc/{pid}/stat is truncated")
    return int(fields[1]), int(fields[19])


def now() -> float:
    """The current time on the clock of Worker.started, whose zero (the boot time) is known to the second only."""
    return _boot_time() + time.clock_gettime(time.CLOCK_BOOTTIME)


def _started(ticks: int) -> float:
    """Seconds since the epoch, the same for one process however it was found."""
    return _boot_time() + ticks / _TICKS


@functools.cache
def _boot_time() -> float:
    return float(psutil.boot_time())


def _environ(process: psutil.Process) -> dict[str, str]:
    try:
        environ: dict[str, str] = process.environ()
    except (psutil.Error, OSError):
        return {}
    return environ


def _is_python(process: psutil.Process) -> bool:
    """Judged by the executable's name; True if that cannot be read."""
    try:
        return "python" in Path(process.exe()).name
    except (psutil.Error, OSError):
        return True


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
