"""The run directory, which holds a job's pages, sockets and exit records while it runs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from ddpdoctor.probe import page

PREFIX = "ddpdoctor-"
#: locked as long as the `watch` that made the folder runs
LOCK = "lock"
#: used if the temporary directory has too long a path for sockets
LAST_RESORT = "/tmp"
#: the longest path of the folder: a unix socket's path holds 107 bytes
_MOST_CHARACTERS = 70
#: bytes for the pages of the ranks of a large node, just under 1 MB each
_ROOM = 64 * page.SIZE


@contextlib.contextmanager
def run_directory(environ: Mapping[str, str]) -> Iterator[Path | None]:
    """A private folder (0700) with a short path, removed at the end.

    It is made in $XDG_RUNTIME_DIR or the temporary directory, which are local to the node; one that is nearly full is
    used only if all are. None if neither is writable: then the job runs without the probe.
    """
    with contextlib.ExitStack() as stack:
        path = None
        parents = (environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), LAST_RESORT)
        for parent in sorted((one for one in parents if one), key=_is_full):
            if path is None and len(parent) <= _MOST_CHARACTERS:
                with contextlib.suppress(OSError):
                    path = _make(Path(parent), stack)
        yield path


def _is_full(parent: str) -> bool:
    try:
        space = os.statvfs(parent)
    except OSError:
        return True
    return space.f_bavail * space.f_frsize < _ROOM


def _make(parent: Path, stack: contextlib.ExitStack) -> Path:
    _remove_stale(parent)
    path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent))
    stack.callback(shutil.rmtree, path, ignore_errors=True)
    lock = stack.enter_context((path / LOCK).open("wb"))
    fcntl.flock(lock, fcntl.LOCK_EX)
    return path


def _remove_stale(parent: Path) -> None:
    """Remove folders of `watch` processes that were killed: their pid does not exist here, and nobody holds the lock.

    The pid alone is not enough: a container that shares this folder has pids of its own.
    """
    for folder in parent.glob(f"{PREFIX}[0-9]*-*"):
        pid = folder.name.removeprefix(PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):
            if pid.isdigit() and not Path(f"/proc/{pid}").exists() and folder.stat().st_uid == os.getuid():
                with (folder / LOCK).open("rb") as lock:
                    if _unlocked(lock):
                        shutil.rmtree(folder, ignore_errors=True)


def _unlocked(lock: BinaryIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
