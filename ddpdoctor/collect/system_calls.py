"""The system call in which a thread is blocked, from proc_pid_syscall(5), which requires permission to trace it.

Reading it, and the few bytes that a pointer argument refers to, does not stop the thread.
"""

from __future__ import annotations

import os
import platform
import struct
from dataclasses import dataclass
from pathlib import Path

from ddpdoctor.collect.deadline import within

#: system calls whose first argument is a descriptor, by machine: asm/unistd_64.h, asm-generic/unistd.h
_ON_DESCRIPTORS = {
    "x86_64": "0 read 1 write 17 pread64 19 readv 20 writev 42 connect 43 accept 44 sendto 45 recvfrom 46 sendmsg "
    "47 recvmsg 72 fcntl 73 flock 74 fsync 288 accept4",
    "aarch64": "25 fcntl 32 flock 63 read 64 write 65 readv 66 writev 67 pread64 82 fsync 202 accept 203 connect "
    "206 sendto 207 recvfrom 211 sendmsg 212 recvmsg 242 accept4",
}
#: system calls that take a path, with the index of that argument
_ON_PATHS = {
    "x86_64": "2 open 0 4 stat 0 6 lstat 0 21 access 0 257 openat 1 262 newfstatat 1 269 faccessat 1 332 statx 1",
    "aarch64": "48 faccessat 1 56 openat 1 79 newfstatat 1 291 statx 1",
}
#: waits for one process: number, index of its id, and the value the first argument must have (any for wait4)
_WAITS = {"x86_64": {"61": (0, None), "247": (1, 1)}, "aarch64": {"260": (0, None), "95": (1, 1)}}.get(
    platform.machine(), {}
)
_FUTEX = {"x86_64": "202", "aarch64": "98"}.get(platform.machine(), "")
_DESCRIPTOR_CALLS = _ON_DESCRIPTORS.get(platform.machine(), "").split()
_PATH_CALLS = _ON_PATHS.get(platform.machine(), "").split()
_BY_DESCRIPTOR = dict(zip(_DESCRIPTOR_CALLS[::2], _DESCRIPTOR_CALLS[1::2], strict=True))
_BY_PATH = {
    number: (name, int(place))
    for number, name, place in zip(_PATH_CALLS[::3], _PATH_CALLS[1::3], _PATH_CALLS[2::3], strict=True)
}
#: FUTEX_WAIT with and without FUTEX_PRIVATE_FLAG (linux/futex.h), and the value of a contended lock in glibc
_FUTEX_WAITS, _CONTENDED = (0x80, 0x0), 2
#: lock, count, owner: the first fields of glibc's pthread_mutex_t
_MUTEX = struct.Struct("=iIi")
_LONGEST_PATH = 1024


@dataclass(frozen=True, slots=True)
class SystemCall:
    """One call in flight; the name is empty if the thread is running, or if the kernel or the tables do not name the
    call."""

    name: str = ""
    descriptor: int | None = None
    path: str = ""
    #: process whose exit it waits for
    child: int | None = None
    #: kernel id of the thread that owns a locked pthread mutex
    mutex_owner: int | None = None


NONE = SystemCall()


def of_task(task: Path) -> SystemCall:
    """The call of one /proc/<pid>/task/<tid>."""
    try:
        number, values = _words((task / "syscall").read_text())
    except (OSError, ValueError):
        return NONE
    if number in _BY_PATH:
        name, place = _BY_PATH[number]
        return SystemCall(name, path=_path(task, values[place])) if len(values) > place else NONE
    if number in _WAITS:
        place, kind = _WAITS[number]
        asked = len(values) > place and kind in (None, values[0]) and 0 < values[place] < 1 << 31
        return SystemCall("wait4", child=values[place] if asked else None)
    if number == _FUTEX and len(values) > 2:
        return SystemCall("futex", mutex_owner=_mutex_owner(task, *values[:3]))
    return _on_descriptor(number, values)


def of_line(line: str) -> SystemCall:
    """The call that a line of /proc/<pid>/task/<tid>/syscall names, without what its pointers refer to."""
    try:
        number, values = _words(line)
    except ValueError:
        return NONE
    if number in _BY_PATH:
        return SystemCall(_BY_PATH[number][0])
    return SystemCall("futex") if number == _FUTEX else _on_descriptor(number, values)


def _words(line: str) -> tuple[str, list[int]]:
    """The number of the call and its arguments. Raises ValueError for a thread that is running."""
    number, *arguments = line.split()
    return number, [int(argument, 16) for argument in arguments]


def _on_descriptor(number: str, values: list[int]) -> SystemCall:
    found = number in _BY_DESCRIPTOR and len(values) > 0
    return SystemCall(_BY_DESCRIPTOR[number], values[0] & 0xFFFFFFFF) if found else NONE


def _path(task: Path, address: int) -> str:
    """The string at an address. In two reads, because the memory behind the end of its page may not be mapped."""
    found = _read(task, address, min(_LONGEST_PATH, 4096 - address % 4096))
    if b"\0" not in found and len(found) < _LONGEST_PATH:
        found += _read(task, address + len(found), _LONGEST_PATH - len(found))
    text, end, _ = found.partition(b"\0")
    return text.decode(errors="replace") if end else ""


def _mutex_owner(task: Path, address: int, operation: int, value: int) -> int | None:
    """The owner of a mutex, for waits as glibc's own locks make them; semaphores, on which Python's locks are built,
    have no owner."""
    if operation not in _FUTEX_WAITS or value != _CONTENDED:
        return None
    head = _read(task, address, _MUTEX.size)
    if len(head) < _MUTEX.size:
        return None
    state, _, owner = _MUTEX.unpack(head)
    return owner if state == _CONTENDED and owner > 0 else None


def _read(task: Path, address: int, length: int) -> bytes:
    def read() -> bytes:
        with (task / "mem").open("rb", buffering=0) as memory:
            return os.pread(memory.fileno(), length, address) if address < 1 << 63 else b""

    return within(read, b"")
