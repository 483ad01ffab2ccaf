"""The run directory: where a job's black boxes, sockets and exits lie while it runs."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

PREFIX = "ddpdoctor-"


@contextlib.contextmanager
def run_directory(environ: Mapping[str, str]) -> Iterator[Path | None]:
    """A private folder (0700) with a short path, since a unix socket's path holds 107 bytes; removed at the end.

    It lies in $XDG_RUNTIME_DIR or the temporary directory, which are local and not shared with other nodes. None
    where neither can be written: then the job runs without the probe.
    """
    path = _make(environ)
    try:
        yield path
    finally:
        if path is not None:
            shutil.rmtree(path, ignore_errors=True)


def _make(environ: Mapping[str, str]) -> Path | None:
    for parent in (environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir()):
        if not parent or len(parent) > 70:
            continue
        with contextlib.suppress(OSError):
            _remove_stale(Path(parent))
            return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent))
    return None


def _remove_stale(parent: Path) -> None:
    """Folders of watches that were killed: their pid is in the name, and nobody has it any more."""
    for folder in parent.glob(f"{PREFIX}[0-9]*-*"):
        pid = folder.name.removeprefix(PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):
            if pid.isdigit() and not Path(f"/proc/{pid}").exists() and folder.stat().st_uid == os.getuid():
                shutil.rmtree(folder, ignore_errors=True)
