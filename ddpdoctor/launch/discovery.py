"""Finds the processes of a job: launchers, ranks, and the ranks' children, whatever launched them."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from ddpdoctor.collect.page import IDENTITY_BYTES, Identity, decode_identity
from ddpdoctor.model.ranks import Rank, Role, Worker

_WANTED = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
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

    def changed(self) -> bool:
        """Whether there are new pages since the last `find`; lists one small folder."""
        return self._page_names() != self._names

    def find(self, root_pid: int) -> tuple[Worker, ...]:
        """The process tree of `root_pid`, and every rank that has a page, alive or not.

        A page identifies a rank also under mp.spawn and fork, where the environment does not, and also a rank that has
        ended or has another parent by now. Without a page RANK in the environment counts: in the process nearest to the
        root that has it, unless its descendants have another RANK (a launcher that was itself given RANK as the node's
        number) or a page.
        """
        pages = {identity.pid: identity for identity in self._read_pages()}
        family: dict[int, _LiveProcess] = {}
        for pid in (root_pid, *pages):
            for process in _family(pid):
                with contextlib.suppress(psutil.Error, OSError, ValueError):
                    if process.pid not in family and (pid == root_pid or _is(pages[pid])):
                        family[process.pid] = self._see(process, pages)
        dead = [identity for identity in pages.values() if identity.pid not in family and identity.rank >= 0]
        return (*_classified(family), *map(_dead_rank, dead))

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


def _classified(family: Mapping[int, _LiveProcess]) -> Iterator[Worker]:
    """Assign roles, parents before children. `owner` is the rank's process that a process is or descends from."""
    below = _descendants(family)
    owner: dict[int, int] = {}
    for seen in family.values():
        above = owner.get(seen.parent)
        is_rank = seen.page is not None or (
            above is None and seen.candidate and not any(_outranks(other, seen) for other in below[seen.pid])
        )
        is_rank = is_rank or (above is not None and _is_made_rank(seen, family[above]))
        if is_rank:
            owner[seen.pid] = seen.pid
        elif above is not None:
            owner[seen.pid] = above
        yield _worker(seen, is_rank, above)


def _is_made_rank(seen: _LiveProcess, rank: _LiveProcess) -> bool:
    """Whether a rank has started the process as another rank of its node, which has no page yet.

    It runs the same program and is told only its number on the node. A helper runs another program, or has what the
    rank's environment says of the rank itself.
    """
    local = _number(seen.environ.get("LOCAL_RANK"))
    if (
        not seen.python
        or local is None
        or "RANK" in seen.environ
        or local == _number(rank.environ.get("LOCAL_RANK", "0"))
    ):
        return False
    return _program(seen) == _program(rank)


def _program(process: _LiveProcess) -> list[str]:
    """What the interpreter is told to run, by its name: the same script may be named by an absolute path."""
    return [Path(argument).name for argument in process.command[1:]]


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


def _dead_rank(identity: Identity) -> Worker:
    return Worker(
        pid=identity.pid,
        started=_started(identity.started_ticks),
        role=Role.RANK,
        rank=identity.rank,
        world_size=identity.world_size,
    )


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
