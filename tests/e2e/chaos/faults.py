"""What is done to a job and to whoever watches it, inside of namespaces that end with it."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import psutil

#: where the run folders are, on a file system of its own
TMP = Path("/tmp")
SHM = Path("/dev/shm")
#: seconds for which something is stopped or in the way
WHILE = 3.0
#: seconds in which every look is disturbed
DISTURBED = 8.0
#: clone3(2)
CLONE3 = 435


@dataclass(frozen=True)
class Scene:
    """What can be struck; in a job that nobody watches there is no watcher."""

    folder: Path
    watchers: tuple[int, ...]
    launchers: tuple[int, ...]
    #: by rank
    ranks: tuple[int, ...]

    @property
    def victim(self) -> int:
        """The rank that is struck: it has nothing to do with the hang."""
        return self.ranks[2]

    def workers(self) -> list[int]:
        with suppress(psutil.Error):
            return [child.pid for child in psutil.Process(self.victim).children()]
        return []

    def runs(self) -> list[Path]:
        return sorted(TMP.glob("ddpdoctor-*"))


class Part(Enum):
    """Whom a fault strikes: what becomes of the job alone is compared only where it strikes the job."""

    JOB = "the job"
    WATCH = "the watcher"
    BOTH = "both"


@dataclass(frozen=True)
class Fault:
    """`strike` returns when the fault is over."""

    name: str
    strike: Callable[[Scene], None]
    part: Part = Part.JOB
    #: two watchers, one launcher each, meet
    pair: bool = False
    #: what the program commits itself, once there is a file `go`
    inside: str = ""
    #: the watcher is gone, or can say nothing
    silences: bool = False
    #: what it had cannot be removed
    keeps_run_folder: bool = False
    #: a rank that is truly to blame for the job's end
    blamed: tuple[int, ...] = ()
    #: the time of day jumps for the watcher
    jumps: bool = False


def _named(*names: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.name() in names:
                found.append(process)
    return found


def _send(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _pause(pids: Iterable[int]) -> None:
    stopped = list(pids)
    _send(stopped, signal.SIGSTOP)
    time.sleep(WHILE)
    _send(stopped, signal.SIGCONT)


def _strike_looks(number: signal.Signals) -> None:
    """Whatever py-spy is started meets this."""
    deadline = time.monotonic() + DISTURBED
    while time.monotonic() < deadline:
        _send([process.pid for process in _named("py-spy")], number)
        time.sleep(0.02)


def _fill(folder: Path) -> None:
    with suppress(OSError), (folder / "full").open("wb", buffering=0) as file:
        while file.write(b"\0" * (1 << 20)):
            pass
    with suppress(OSError), (folder / "fuller").open("wb", buffering=0) as file:
        while file.write(b"\0"):
            pass


def _use_inodes(folder: Path) -> None:
    with suppress(OSError):
        for number in range(1 << 20):
            (folder / f"inode{number}").touch()


def _read_only(folder: Path) -> None:
    """Another file system in its place, since one that somebody writes to cannot be made read-only."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(folder)], check=True)


def _vanish(scene: Scene) -> None:
    for run in scene.runs():
        shutil.rmtree(run, ignore_errors=True)


def _limit_memory(scene: Scene) -> None:
    for pid in scene.watchers:
        size = psutil.Process(pid).memory_info().vms + (8 << 20)
        resource.prlimit(pid, resource.RLIMIT_AS, (size, size))


def _limit_files(scene: Scene) -> None:
    for pid in scene.watchers:
        number = psutil.Process(pid).num_fds() + 1
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (number, number))


def _damage_pages(scene: Scene) -> None:
    """As a bug of another library that writes through a wild pointer would."""
    for run in scene.runs():
        for page in run.iterdir():
            if page.is_file() and page.stat().st_size > 4096:
                with page.open("r+b") as file:
                    file.seek(page.stat().st_size // 2)
                    file.write(os.urandom(2048))


def _empty_pages(scene: Scene) -> None:
    """Nothing is cut: the ranks have these files mapped, and would get SIGBUS."""
    for run in scene.runs():
        for page in run.iterdir():
            if page.is_file() and page.stat().st_size > 4096:
                page.rename(page.with_name(page.name + ".old"))
                page.touch()


def _answer_instead(scene: Scene, answer: Callable[[socket.socket], None]) -> None:
    """Take the places of the recorders' servers."""
    for run in scene.runs():
        for path in run.iterdir():
            if stat.S_ISSOCK(path.lstat().st_mode):
                path.rename(path.with_name(path.name + ".old"))
                server = socket.socket(socket.AF_UNIX)
                server.bind(str(path))
                server.listen(16)
                threading.Thread(target=_serve, args=(server, answer), daemon=True).start()


def _serve(server: socket.socket, answer: Callable[[socket.socket], None]) -> None:
    while True:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            answer(connection)


def _say(body: bytes) -> Callable[[socket.socket], None]:
    def answer(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    return answer


def _say_much(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    for _ in range(500):
        connection.sendall(b"[" * (1 << 20))


def _say_slowly(connection: socket.socket) -> None:
    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}":
        connection.sendall(bytes([byte]))
        time.sleep(0.5)


def _say_nothing(connection: socket.socket) -> None:
    del connection
    time.sleep(60.0)


class _CloneArguments(ctypes.Structure):
    """struct clone_args of clone3(2), as of Linux 5.5."""

    _fields_ = [
        (name, ctypes.c_uint64)
        for name in (
            *("flags", "pidfd", "child_tid", "parent_tid", "exit_signal", "stack", "stack_size", "tls"),
            *("set_tid", "set_tid_size"),
        )
    ]


def _reuse_pid(scene: Scene) -> None:
    """The rank is killed, and another process gets its number as soon as it is free."""
    os.kill(scene.victim, signal.SIGKILL)
    wanted = ctypes.c_int(scene.victim)
    arguments = _CloneArguments(exit_signal=signal.SIGCHLD, set_tid=ctypes.addressof(wanted), set_tid_size=1)
    libc = ctypes.CDLL(None, use_errno=True)
    deadline = time.monotonic() + WHILE
    while time.monotonic() < deadline:
        child = libc.syscall(CLONE3, ctypes.byref(arguments), ctypes.sizeof(arguments))
        if child == 0:
            os.execvp("sleep", ["sleep", "5"])
        if child > 0:
            return
        time.sleep(0.005)


FAULTS = (
    Fault("stop-a-rank", lambda scene: _pause([scene.victim])),
    Fault("kill-a-rank", lambda scene: _send([scene.victim], signal.SIGKILL), blamed=(2,)),
    Fault("stop-a-data-worker", lambda scene: _pause(scene.workers())),
    Fault("kill-a-data-worker", lambda scene: _send(scene.workers(), signal.SIGKILL), blamed=(2,)),
    Fault("stop-the-launcher", lambda scene: _pause(scene.launchers[:1])),
    Fault("kill-the-launcher", lambda scene: _send(scene.launchers[:1], signal.SIGKILL)),
    Fault("a-hundred-children", lambda scene: (scene.folder / "go").touch(), inside="children"),
    Fault("much-output", lambda scene: (scene.folder / "go").touch(), inside="output"),
    Fault("a-pid-is-used-again", _reuse_pid, blamed=(2,)),
    Fault("no-shared-memory", lambda scene: _fill(SHM), blamed=(0, 1, 2)),
    Fault("full-disk", lambda scene: _fill(TMP), Part.BOTH),
    Fault("no-inodes", lambda scene: _use_inodes(TMP), Part.BOTH),
    Fault("read-only-disk", lambda scene: _read_only(TMP), Part.BOTH),
    Fault("run-folder-vanishes", _vanish, Part.WATCH),
    Fault("damaged-pages", _damage_pages, Part.WATCH),
    Fault("empty-pages", _empty_pages, Part.WATCH),
    Fault("stop-watch", lambda scene: _pause(scene.watchers), Part.WATCH),
    Fault(
        "kill-watch",
        lambda scene: _send(scene.watchers, signal.SIGKILL),
        Part.WATCH,
        silences=True,
        keeps_run_folder=True,
    ),
    Fault("memory-limit-of-watch", _limit_memory, Part.WATCH, silences=True),
    Fault("no-descriptors-for-watch", _limit_files, Part.WATCH, silences=True),
    Fault("kill-py-spy", lambda scene: _strike_looks(signal.SIGKILL), Part.WATCH),
    Fault("stop-py-spy", lambda scene: _strike_looks(signal.SIGSTOP), Part.WATCH),
    Fault("clock-jumps", lambda scene: None, Part.WATCH, jumps=True),
    Fault("recorder-says-nonsense", lambda scene: _answer_instead(scene, _say(b"\xff{nonsense")), Part.WATCH),
    Fault("recorder-says-nothing", lambda scene: _answer_instead(scene, _say(b"")), Part.WATCH),
    Fault("recorder-says-too-much", lambda scene: _answer_instead(scene, _say_much), Part.WATCH),
    Fault("recorder-is-slow", lambda scene: _answer_instead(scene, _say_slowly), Part.WATCH),
    Fault("recorder-is-silent", lambda scene: _answer_instead(scene, _say_nothing), Part.WATCH),
    Fault(
        "kill-the-helper",
        lambda scene: _send([process.pid for process in _named("ddpdoctor-meet")], signal.SIGKILL),
        Part.WATCH,
        pair=True,
    ),
    Fault(
        "stop-the-helper",
        lambda scene: _pause([process.pid for process in _named("ddpdoctor-meet")]),
        Part.WATCH,
        pair=True,
    ),
    Fault("the-store-stalls", lambda scene: _pause(scene.launchers[:1]), pair=True),
)
BY_NAME = {fault.name: fault for fault in FAULTS}
