"""Impure. Collects the facts of this machine, each within a deadline. Nothing is connected to: not the master, not a
store of a job that runs."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import psutil

from ddpdoctor.checkup import launch_options
from ddpdoctor.checkup.machine import Attempt, Clock, Machine, Resolution, Space, Torch
from ddpdoctor.collect import pyspy, refusal
from ddpdoctor.collect.deadline import within
from ddpdoctor.launch.environment import package_folders

#: seconds that the resolver is given, and py-spy; and what the kernel tells, of a machine as busy as a job makes it
_RESOLVER, _PYSPY, _LOCAL = 6.0, 8.0, 5.0
#: state of a listening socket in /proc/net/tcp
_LISTEN = "0A"
#: the container's limit and what it uses, of both versions of control groups
_MEMORY = (
    ("memory.max", "memory.current"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
)
#: the beginning of struct timex: modes, offset, freq, maxerror and esterror in microseconds, status; and its STA_UNSYNC
_TIMEX, _UNSYNCHRONISED = struct.Struct("@Illlli"), 0x40
#: allows any process to attach, as the probe allows `watch`, and waits
_PATIENT = """
import ctypes, time
ctypes.CDLL(None).prctl(0x59616D61, -1, 0, 0, 0)
print(flush=True)
time.sleep(30)
"""

_within = partial(within, seconds=_LOCAL)


def look(command: tuple[str, ...], environ: Mapping[str, str], state_folder: Path) -> Machine:
    """All facts that can be had. `state_folder` is where evidence would be kept."""
    launch = launch_options.read(command, environ)
    proc = Path("/proc")
    own = _within(socket.gethostname, "")
    own_name = _resolve(own, _forward) if own else None
    address = next((a for a in own_name.answers if not a.startswith(("127.", "::1"))), "") if own_name else ""
    return Machine(
        environ=dict(environ),
        launch=launch,
        pyspy=_pyspy(),
        attach=_attach(),
        yama=_within(refusal.yama, None),
        may_trace=_within(refusal.may_trace, None),
        container=_within(refusal.container, ""),
        shared_memory=_space(Path("/dev/shm")),
        open_files=resource.getrlimit(resource.RLIMIT_NOFILE),
        memory=_memory(),
        torch=_torch(command, environ),
        driver=_within(lambda: _driver((proc / "driver/nvidia/version").read_text()), ""),
        gpus=_gpus(environ),
        iommu=_within(lambda: any(Path("/sys/class/iommu").iterdir()), None),
        clock=_within(_clock, None),
        interfaces={name: tuple(a.address for a in found) for name, found in psutil.net_if_addrs().items()},
        listening=_within(_listening, None),
        master=_resolve(launch.master_address, _forward) if launch.master_address else None,
        own_name=own_name,
        own_address=_resolve(address, _backward) if address else None,
        state_folder=str(state_folder),
        state_error=_unwritable(state_folder),
        state_space=_space(_existing(state_folder)),
    )


def _pyspy() -> Attempt:
    program = pyspy.find()
    return Attempt(False, "it is not installed") if program is None else _run([program, "--version"])


def _attach() -> Attempt | None:
    """py-spy on a process that is no child of it and allows it, as a rank is under `watch`."""
    program = pyspy.find()
    if program is None:
        return None
    try:
        one = subprocess.Popen([sys.executable, "-c", _PATIENT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError as error:
        return Attempt(False, f"{sys.executable} cannot be started: {error.strerror}")
    with one:
        try:
            assert one.stdout is not None
            within(one.stdout.readline, b"", _PYSPY)
            return _run([program, "dump", "--nonblocking", "--pid", str(one.pid)])
        finally:
            one.kill()


def _run(command: list[str]) -> Attempt:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PYSPY, check=False
        )
    except subprocess.TimeoutExpired:
        return Attempt(False, f"no answer within {_PYSPY:g} s")
    except OSError as error:
        return Attempt(False, error.strerror or str(error))
    lines = [line.strip() for line in (done.stdout if done.returncode == 0 else done.stderr).splitlines()]
    return Attempt(done.returncode == 0, next(filter(None, lines), f"exit status {done.returncode}")[:200])


def _space(folder: Path) -> Space | None:
    def ask() -> Space | None:
        found = os.statvfs(folder)
        return Space(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)

    return _within(ask, None)


def _existing(folder: Path) -> Path:
    return next((parent for parent in (folder, *folder.parents) if within(parent.exists, False)), Path("/"))


def _unwritable(folder: Path) -> str:
    there = _existing(folder)
    return (
        "" if within(there.is_dir, False) and os.access(there, os.W_OK | os.X_OK) else f"{there} cannot be written to"
    )


def _memory() -> int | None:
    """What the machine has available, or what the container's limit leaves."""
    available = _within(lambda: int(psutil.virtual_memory().available), None)
    root = Path("/sys/fs/cgroup")
    rooms = [available]
    for limit, used in _MEMORY:
        most, now = (_within(partial(_number, root / name), None) for name in (limit, used))
        rooms.append(max(most - now, 0) if most is not None and now is not None else None)
    return min((room for room in rooms if room is not None), default=None)


def _number(path: Path) -> int:
    return int(path.read_text())


def _torch(command: tuple[str, ...], environ: Mapping[str, str]) -> Torch | None:
    """torch where the command's interpreter looks for it, or else that of the first Python on PATH that has one."""
    commands = [command[:1]] if command else []
    for words in (*commands, ("torchrun",), ("python",), ("python3",)):
        for packages in package_folders(words, environ):
            found = next(iter(sorted(packages.glob("torch-*.dist-info"))), None)
            if found is not None:
                return _described(packages, found)
    return None


def _described(packages: Path, metadata: Path) -> Torch:
    version = metadata.name.removeprefix("torch-").removesuffix(".dist-info")
    said = _within(lambda: (metadata / "METADATA").read_text(errors="replace"), "")
    wanted = re.search(r"^Requires-Dist: nvidia-nccl-cu\d+\s*\(?==\s*([\d.]+)", said, re.MULTILINE)
    installed = next(iter(sorted(packages.glob("nvidia_nccl_cu*.dist-info"))), None)
    source = _within(lambda: (packages / "torch/version.py").read_text(), "")
    cuda = re.search(r"^cuda\b[^=]*=\s*(?:'([\d.]+)'|None)", source, re.MULTILINE)
    return Torch(
        version,
        (cuda[1] or "") if cuda else None,
        installed.name.split("-")[1].removesuffix(".dist") if installed else "",
        wanted[1] if wanted else "",
    )


def _driver(said: str) -> str:
    found = re.search(r"(?:Kernel Module|for \S+)\s+(\d[\d.]+)", said)
    return found[1] if found else ""


def _gpus(environ: Mapping[str, str]) -> int:
    """NVIDIA's GPUs, of which CUDA_VISIBLE_DEVICES may show fewer."""
    there = _within(lambda: len(list(Path("/proc/driver/nvidia/gpus").iterdir())), 0)
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return there
    return min(there, len([one for one in visible.split(",") if one.strip() not in ("", "-1")]))


def _clock() -> Clock | None:
    """adjtimex(2) with nothing to set, which needs no rights."""
    told = ctypes.create_string_buffer(512)
    if ctypes.CDLL(None).adjtimex(told) < 0:
        return None
    _, _, _, most, _, status = _TIMEX.unpack_from(told)
    return Clock(not status & _UNSYNCHRONISED, most / 1e6)


def _listening() -> frozenset[int]:
    """Ports of listening sockets, as the kernel lists them: nobody is connected to."""
    ports: set[int] = set()
    for name in ("tcp", "tcp6"):
        path = Path("/proc/net") / name
        for line in path.read_text().splitlines()[1:] if path.exists() else ():
            words = line.split()
            if words[3] == _LISTEN:
                ports.add(int(words[1].rpartition(":")[2], 16))
    return frozenset(ports)


def _forward(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(found[4][0]) for found in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)))


def _backward(address: str) -> tuple[str, ...]:
    name, others, _ = socket.gethostbyaddr(address)
    return (name, *others)


def _resolve(asked: str, how: Callable[[str], tuple[str, ...]]) -> Resolution:
    begun = time.monotonic()

    def ask() -> tuple[tuple[str, ...], str]:
        try:
            return how(asked), ""
        except OSError as error:
            return (), error.strerror or str(error)

    nothing: tuple[tuple[str, ...], str] = ((), f"no answer within {_RESOLVER:g} s")
    answers, error = within(ask, nothing, _RESOLVER)
    return Resolution(asked, answers, time.monotonic() - begun, error)
