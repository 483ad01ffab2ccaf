"""What the kernel says of a process: state, threads, wait channels, processor time, io, descriptors."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

from ddpdoctor.collect.redact import plain
from ddpdoctor.model.codec import DecodeError, decode, encode
from ddpdoctor.model.evidence import Gap, Source
from ddpdoctor.model.processes import Descriptor, ProcessState, ThreadState
from ddpdoctor.model.ranks import Worker

MOST_THREADS = 256
MOST_DESCRIPTORS = 128

#: system calls whose first argument is a file descriptor, by machine: asm/unistd_64.h, asm-generic/unistd.h
_CALLS = {
    "x86_64": "0 read 1 write 17 pread64 19 readv 20 writev 42 connect 43 accept 44 sendto 45 recvfrom 46 sendmsg "
    "47 recvmsg 72 fcntl 73 flock 288 accept4",
    "aarch64": "25 fcntl 32 flock 63 read 64 write 65 readv 66 writev 67 pread64 202 accept 203 connect 206 sendto "
    "207 recvfrom 211 sendmsg 212 recvmsg 242 accept4",
}.get(platform.machine(), "")
_CALL_NAMES = dict(zip(_CALLS.split()[::2], _CALLS.split()[1::2], strict=True))

_TICKS = os.sysconf("SC_CLK_TCK")
_TCP_STATES = {"01": "ESTABLISHED", "02": "SYN_SENT", "06": "TIME_WAIT", "08": "CLOSE_WAIT", "0A": "LISTEN"}


def fetch(worker: Worker, proc: Path = Path("/proc")) -> bytes | Gap:
    """One sample of /proc/<pid> as JSON; a Gap where the process is gone or hidden."""
    folder = proc / str(worker.pid)
    try:
        letter, seconds = _stat(folder / "stat")
    except OSError as error:
        return Gap(Source.PROCESSES, worker.rank, f"/proc/{worker.pid} cannot be read: {error.strerror}")
    state = ProcessState(
        time=time.monotonic(),
        state=letter,
        cpu_seconds=seconds,
        io_bytes=_io_bytes(folder / "io"),
        threads=_threads(folder / "task"),
        descriptors=_descriptors(folder),
    )
    return json.dumps(encode(state)).encode()


def parse(data: bytes) -> ProcessState:
    """Read what `fetch` wrote; raises ValueError for anything else."""
    loaded: Any = json.loads(data)
    try:
        return decode(ProcessState, loaded)
    except DecodeError as error:
        raise ValueError(str(error)) from error


def state(pid: int, proc: Path = Path("/proc")) -> str:
    """The state letter of proc(5), "" for a process that is not there."""
    try:
        return _fields(proc / str(pid) / "stat")[0]
    except (OSError, IndexError):
        return ""


def _fields(stat: Path) -> list[str]:
    """The fields from `state` on; the name before them may hold spaces and parentheses: take the last ')'."""
    return stat.read_text(errors="replace").rpartition(")")[2].split()


def _stat(stat: Path) -> tuple[str, float]:
    fields = _fields(stat)
    return fields[0], (int(fields[11]) + int(fields[12])) / _TICKS


def _io_bytes(io: Path) -> int | None:
    try:
        values = dict(line.split(": ") for line in io.read_text().splitlines())
        return int(values["rchar"]) + int(values["wchar"])
    except (OSError, KeyError, ValueError):
        return None


def _threads(tasks: Path) -> tuple[ThreadState, ...]:
    found: list[ThreadState] = []
    with contextlib.suppress(OSError):
        for task in sorted(tasks.iterdir(), key=lambda t: int(t.name))[:MOST_THREADS]:
            with contextlib.suppress(OSError, IndexError, ValueError):
                letter, seconds = _stat(task / "stat")
                name = plain((task / "comm").read_text(errors="replace").strip())
                found.append(ThreadState(int(task.name), name, letter, _wchan(task), seconds, *_call(task)))
    return tuple(found)


def _wchan(task: Path) -> str:
    try:
        text = (task / "wchan").read_text().strip()
    except OSError:
        return ""
    return "" if text == "0" else text


def _call(task: Path) -> tuple[str, int | None]:
    """The system call that the thread is inside of and its descriptor, as proc(5) tells those who may trace it."""
    try:
        number, first, *_ = (task / "syscall").read_text().split()
        name = _CALL_NAMES.get(number, "")
        return name, int(first, 16) & 0xFFFFFFFF if name else None
    except (OSError, ValueError):
        return "", None


def _descriptors(folder: Path) -> tuple[Descriptor, ...]:
    found: list[Descriptor] = []
    sockets: dict[str, str] | None = None
    with contextlib.suppress(OSError):
        for link in sorted((folder / "fd").iterdir(), key=lambda f: int(f.name))[:MOST_DESCRIPTORS]:
            with contextlib.suppress(OSError):
                target = plain(str(link.readlink()))
                if target.startswith("socket:["):
                    sockets = _sockets(folder) if sockets is None else sockets
                    target = sockets.get(target[8:-1], target)
                found.append(Descriptor(int(link.name), _kind(target), target))
    return tuple(found)


def _kind(target: str) -> str:
    if target.startswith(("socket:", "tcp ")):
        return "socket"
    if target.startswith("pipe:"):
        return "pipe"
    if target.startswith(("/dev/pts/", "/dev/tty")):
        return "tty"
    return "file" if target.startswith("/") else "other"


def _sockets(folder: Path) -> dict[str, str]:
    """inode -> "tcp host:port STATE" of the process's network namespace."""
    found: dict[str, str] = {}
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (folder / "net" / table).read_text().splitlines()[1:]:
                fields = line.split()
                if len(fields) > 9:
                    found[fields[9]] = f"tcp {_address(fields[2])} {_TCP_STATES.get(fields[3], fields[3])}"
    return found


def _address(text: str) -> str:
    """`0100007F:1F90` -> `127.0.0.1:8080` (little-endian words; proc(5))."""
    host, _, port = text.partition(":")
    words = [bytes.fromhex(host[i : i + 8])[::-1] for i in range(0, len(host), 8)]
    if len(words) == 1:
        return f"{'.'.join(str(b) for b in words[0])}:{int(port, 16)}"
    if words[:2] == [bytes(4), bytes(4)] and words[2] == bytes.fromhex("0000ffff"):
        return f"{'.'.join(str(b) for b in words[3])}:{int(port, 16)}"
    joined = b"".join(words).hex()
    return f"[{':'.join(joined[i : i + 4] for i in range(0, 32, 4))}]:{int(port, 16)}"
