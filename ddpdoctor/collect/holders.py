"""Which process holds what a thread waits on: the owner of a lock, the other end of a pipe or socket. Reads /proc only.

The open files of all processes are scanned at most once per sample, when the first thread needs them.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ddpdoctor.collect import sockets
from ddpdoctor.collect.deadline import within
from ddpdoctor.model.processes import Descriptor, Holder, Relation
from ddpdoctor.probe.redact import plain, redacted_command

#: seconds for scanning the open files of all processes; an incomplete scan is reported
LONGEST = 1.0
MOST_HOLDERS = 8
_COMMAND_BYTES = 4096

Found = tuple[tuple[Holder, ...], str]


@dataclass(frozen=True, slots=True)
class _Open:
    pid: int
    descriptor: int


class Holders:
    """The processes of this machine, indexed by their open files."""

    def __init__(self, proc: Path = Path("/proc"), longest: float = LONGEST) -> None:
        self._proc = proc
        self._longest = longest
        self._lock = threading.Lock()
        self._open: dict[str, list[_Open]] | None = None
        self._unseen = ""
        self._sockets: dict[str, dict[str, sockets.Socket]] = {}

    def socket_of(self, pid: int, inode: str) -> sockets.Socket | None:
        """A socket of the process's network namespace, whose sockets are read again only for one that is new."""
        namespace = str(_link(self._proc / str(pid) / "ns" / "net"))
        with self._lock:
            if inode not in self._sockets.get(namespace, {}):
                self._sockets[namespace] = sockets.of_process(self._proc / str(pid))
            return self._sockets[namespace].get(inode)

    def of_call(self, pid: int, call: str, descriptor: Descriptor) -> Found:
        """Holders of what `call` of process `pid` waits on, and why the list may be incomplete ("" if it is not)."""
        target = str(_link(self._proc / str(pid) / "fd" / str(descriptor.number)) or descriptor.target)
        if call in ("flock", "fcntl"):
            return self.of_lock(pid, target)
        if descriptor.kind == "socket":
            return self._of_socket(pid, target.removeprefix("socket:[").removesuffix("]"))
        if descriptor.kind == "pipe" or _is_fifo(target):
            writes = call.startswith("write")
            return self._at_end(pid, target, Relation.READER if writes else Relation.WRITER)
        return (), ""

    def of_lock(self, pid: int, path: str) -> Found:
        """Owners of the lock that `pid` waits for: from the kernel's list, or else the processes that have the locked
        file open."""
        owners = [self._holder(owner, Relation.OWNER) for owner in _owners(self._proc, pid, path)]
        alive = [owner for owner in owners if owner.name]
        if alive:
            return tuple(alive), ""
        # open file description locks have no process, and the lock of a parent that has ended lives on in its children
        keepers = [one for one in self._find(path) if _keeps_lock(self._proc, one)]
        found = self._holders(keepers, Relation.OWNER)
        return found or tuple(owners), "" if found else self._unseen

    def of_file(self, path: str, *, but: int) -> Found:
        """Other processes that hold a kernel lock on the file, or else that have it open."""
        owners = [self._holder(owner, Relation.OWNER) for owner in _owners(self._proc, but, path)]
        alive = [owner for owner in owners if owner.name]
        if alive:
            return tuple(alive), ""
        return self._holders((o for o in self._find(path) if o.pid != but), Relation.OPENER), self._unseen

    def _of_socket(self, pid: int, inode: str) -> Found:
        other = sockets.other_end(self._proc / str(pid), inode)
        if not other:
            return (), ""
        ends = self._find(f"socket:[{other}]")
        return self._holders([end for end in ends if end.pid != pid] or ends, Relation.PEER), self._unseen

    def _at_end(self, pid: int, target: str, relation: Relation) -> Found:
        wanted = (os.O_RDONLY, os.O_RDWR) if relation is Relation.READER else (os.O_WRONLY, os.O_RDWR)
        ends = [one for one in self._find(target) if _mode(self._proc, one) in wanted]
        others = [one for one in ends if one.pid != pid]
        return self._holders(others or ends, relation), self._unseen

    def _find(self, target: str) -> list[_Open]:
        with self._lock:
            if self._open is None:
                self._open, self._unseen = self._look()
            return self._open.get(target, [])

    def _look(self) -> tuple[dict[str, list[_Open]], str]:
        found: dict[str, list[_Open]] = {}
        hidden, deadline = 0, time.monotonic() + self._longest
        for pid in _pids(self._proc):
            if time.monotonic() > deadline:
                return found, f"not all processes could be inspected within {self._longest:g} s"
            try:
                for link in (self._proc / str(pid) / "fd").iterdir():
                    target = _link(link)
                    if target and target.startswith(("/", "pipe:", "socket:")):
                        found.setdefault(target, []).append(_Open(pid, int(link.name)))
            except PermissionError:
                hidden += 1
            except OSError:
                continue
        return found, f"no permission to read the open files of {hidden} processes" if hidden else ""

    def _holders(self, ends: Iterable[_Open], relation: Relation) -> tuple[Holder, ...]:
        pids = list(dict.fromkeys(end.pid for end in ends))
        return tuple(self._holder(pid, relation) for pid in pids[:MOST_HOLDERS])

    def _holder(self, pid: int, relation: Relation, thread: int | None = None) -> Holder:
        folder = self._proc / str(pid)
        name = ""
        with contextlib.suppress(OSError):
            name = plain((folder / "comm").read_text(errors="replace").strip())
        command = within((folder / "cmdline").read_bytes, b"")[:_COMMAND_BYTES]
        arguments = tuple(part.decode(errors="replace") for part in command.split(b"\0") if part)
        return Holder(pid, relation, name, redacted_command(arguments), thread)

    def of_child(self, pid: int) -> Found:
        """The process whose exit is waited for."""
        return (self._holder(pid, Relation.AWAITED),), ""

    def of_mutex(self, pid: int, owner: int) -> Found:
        """The thread that a locked pthread mutex names as its owner, if it belongs to the process or to its parent."""
        family = _status(self._proc, owner, "Tgid")
        if family is None or family not in (pid, _status(self._proc, pid, "PPid")):
            return (), ""
        return (self._holder(family, Relation.OWNER, owner),), ""


def _pids(proc: Path) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for entry in proc.iterdir():
            if entry.name.isdigit():
                yield int(entry.name)


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""


def _is_fifo(path: str) -> bool:
    return path.startswith("/") and within(lambda: stat.S_ISFIFO(Path(path).stat().st_mode), False)


def _mode(proc: Path, end: _Open) -> int | None:
    """O_RDONLY, O_WRONLY or O_RDWR, from proc_pid_fdinfo(5)."""
    for line in _info(proc, end):
        name, _, value = line.partition(":")
        if name == "flags":
            return int(value, 8) & os.O_ACCMODE
    return None


def _keeps_lock(proc: Path, end: _Open) -> bool:
    return any(line.startswith("lock:") and "->" not in line for line in _info(proc, end))


def _info(proc: Path, end: _Open) -> list[str]:
    try:
        return (proc / str(end.pid) / "fdinfo" / str(end.descriptor)).read_text().splitlines()
    except (OSError, ValueError):
        return []


def _owners(proc: Path, waiter: int, path: str) -> list[int]:
    """Processes that hold the lock for which `waiter` is queued; found by the file if the list shows no queue.

    A line of /proc/locks (proc_locks(5)) is `1: FLOCK ADVISORY WRITE 359 08:01:131 0 EOF`; the lines of waiters follow
    with the same number and an arrow.
    """
    try:
        lines = [line.replace("->", " -> ").split() for line in (proc / "locks").read_text().splitlines()]
    except OSError:
        return []
    held = [line for line in lines if len(line) > 5 and line[1] != "->"]
    queued = [line for line in lines if len(line) > 6 and line[1] == "->" and line[5] == str(waiter)]
    if queued:
        numbers = {line[0] for line in queued}
        found = [line[4] for line in held if line[0] in numbers]
    else:
        inode = _inode(path)
        found = [line[4] for line in held if inode and line[5].rpartition(":")[2] == inode]
    return [int(pid) for pid in dict.fromkeys(found) if pid.isdigit() and pid not in ("0", str(waiter))]


def _inode(path: str) -> str:
    return within(lambda: str(Path(path).stat().st_ino), "")


def _status(proc: Path, task: int, field: str) -> int | None:
    try:
        for line in (proc / str(task) / "status").read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name == field:
                return int(value)
    except (OSError, ValueError):
        return None
    return None
