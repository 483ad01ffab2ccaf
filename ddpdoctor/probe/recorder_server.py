"""Starts torch's own HTTP server in the worker, which serves the Flight Recorder while Python is blocked.

Started once, never shut down, without handlers of ours (torch 2.13: `shutdown()` under polling can hang, and a Python
handler aborts healthy jobs at exit).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator

#: a unix socket's path holds 107 bytes and a zero
LONGEST_PATH = 107
#: c10's level numbers: 2 is error, so that the line "Server listening to UNIX ..." (a warning) is not printed
ERROR = 2

_descriptor = -1
_inode = 0


def serve(path: str) -> str:
    """Start the server on a unix socket; returns the path, or "" if this torch cannot start it silently."""
    global _descriptor, _inode
    if len(os.fsencode(path)) > LONGEST_PATH:
        return ""
    try:
        import torch
        from torch._C._distributed_c10d import _WorkerServer

        level = _log_level(os.path.dirname(torch.__file__))
        if level is None:
            return ""
        before = _sockets()
        with _silenced(level):
            server = _WorkerServer(path, -1)
    except (ImportError, AttributeError, TypeError, RuntimeError, OSError):
        return ""
    # never destroyed, not even at the interpreter's exit, because its destructor joins threads
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))
    for descriptor, inode in _sockets().items():
        if before.get(descriptor) != inode and _listens(inode, path):
            _descriptor, _inode = descriptor, inode
    return path


def forget() -> None:
    """In a forked child: close the inherited listening socket, so that a dead rank does not seem to accept
    connections."""
    global _descriptor
    if _descriptor >= 0:
        with contextlib.suppress(OSError):
            if os.fstat(_descriptor).st_ino == _inode:
                os.close(_descriptor)
        _descriptor = -1


def _log_level(torch_folder: str) -> ctypes.c_int | None:
    """c10's log level: the only way to silence C++ logging without redirecting file descriptors."""
    try:
        library = ctypes.CDLL(os.path.join(torch_folder, "lib", "libc10.so"))
        return ctypes.c_int.in_dll(library, "FLAGS_caffe2_log_level")
    except (OSError, ValueError):
        return None


@contextlib.contextmanager
def _silenced(level: ctypes.c_int) -> Iterator[None]:
    before = level.value
    level.value = max(before, ERROR)
    try:
        yield
    finally:
        level.value = before


def _sockets() -> dict[int, int]:
    """Open sockets: descriptor -> inode."""
    found: dict[int, int] = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            target = os.readlink(f"/proc/self/fd/{name}")
            if target.startswith("socket:["):
                found[int(name)] = int(target[8:-1])
    return found


def _listens(inode: int, path: str) -> bool:
    with contextlib.suppress(OSError), open("/proc/self/net/unix", encoding="utf-8", errors="replace") as table:
        for line in table:
            fields = line.split()
            if len(fields) == 8 and fields[6] == str(inode):
                return fields[7] == path
    return False
