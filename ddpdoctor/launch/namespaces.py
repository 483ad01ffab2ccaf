"""Impure. How a process sees the machine, where it lives in a container: its files, and the numbers of its threads."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from pathlib import Path

from ddpdoctor.collect import pyspy
from ddpdoctor.collect.frame_locals import View, kept
from ddpdoctor.model.evidence import Gap
from ddpdoctor.model.ranks import Worker


def view_of(pid: int) -> View:
    """The process's root folder and thread ids as they appear from here; empty where they are our own."""
    here, there = _link("self", "mnt"), _link(str(pid), "mnt")
    changed = (there != "" and here != there) or _link(str(pid), "", "root") not in ("", "/")
    return View(f"/proc/{pid}/root" if changed else "", _threads(pid) if _nested(pid) else None)


def _nested(pid: int) -> bool:
    return _link("self", "pid") != _link(str(pid), "pid") != ""


def _threads(pid: int) -> dict[int, int]:
    """Ids inside the process's own namespace -> ours. The last number of NSpid is the innermost; proc(5)."""
    found: dict[int, int] = {}
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError, ValueError, IndexError):
                lines = (task / "status").read_text(errors="replace").splitlines()
                inner = next(line for line in lines if line.startswith("NSpid:")).split()[-1]
                found[int(inner)] = int(task.name)
    return found


def _link(process: str, kind: str, name: str = "") -> str:
    try:
        return str(Path(f"/proc/{process}/{name or f'ns/{kind}'}").readlink())
    except OSError:
        return ""


def stacks_from_outside(*, native: bool, read_locals: bool) -> Callable[[Worker], bytes | Gap | None]:
    """A function that takes the stacks of a process that nobody prepared, with the locals that may be kept."""

    def fetch(worker: Worker) -> bytes | Gap | None:
        view = view_of(worker.pid)
        keep = functools.partial(kept, view=view)
        if read_locals or view.threads is not None:
            return pyspy.fetch(worker, native=native, keep=keep)
        return pyspy.fetch(worker, native=native)

    return fetch
