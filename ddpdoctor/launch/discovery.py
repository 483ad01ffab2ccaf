"""The processes of a job: launchers, ranks, and the ranks' children, whatever launched them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from ddpdoctor.collect.page import decode_page, read_file
from ddpdoctor.model.ranks import Rank, Role, Worker

_WANTED = ("RANK", "LOCAL_RANK", "WORLD_SIZE")


class Discovery:
    """Finds the processes of a job again and again; what cannot change for a process is asked once."""

    def __init__(self, run: Path | None) -> None:
        self._run = run
        self._environs: dict[tuple[int, float], dict[str, str]] = {}
        self._paged: dict[int, tuple[Rank, int]] = {}

    def find(self, root_pid: int) -> tuple[Worker, ...]:
        """The process tree of `root_pid`, itself included; empty once it is gone.

        A page says who is a rank, also under mp.spawn and fork, where the environment does not; without a page it
        is the environment's RANK, in the process nearest to the root that has it and not in its children.
        """
        try:
            root = psutil.Process(root_pid)
            family = [root, *root.children(recursive=True)]
        except psutil.Error:
            return ()
        self._read_pages({process.pid for process in family})
        owners: dict[int, int] = {}
        found: list[Worker] = []
        for process in family:
            with contextlib.suppress(psutil.Error):
                found.append(self._classify(process, owners))
        return tuple(found)

    def _classify(self, process: psutil.Process, owners: dict[int, int]) -> Worker:
        """`owners`: process -> the rank's process that it is or descends from; parents come before children."""
        parent, started = process.ppid(), process.create_time()
        owner = owners.get(parent)
        environ = self._environ(process, started)
        rank, world = self._paged.get(process.pid) or _rank_of(environ)
        if rank is not None and (owner is None or process.pid in self._paged):
            owners[process.pid] = process.pid
            role = Role.RANK
        elif owner is not None:
            owners[process.pid] = owner
            role, rank, world = Role.CHILD, None, None
        else:
            role, world = Role.LAUNCHER, None
        return Worker(
            pid=process.pid,
            started=started,
            role=role,
            rank=rank,
            local_rank=_number(environ.get("LOCAL_RANK")) if role is Role.RANK else None,
            world_size=world,
            parent=owner if role is Role.CHILD else parent,
            command=tuple(process.cmdline()),
        )

    def _read_pages(self, pids: set[int]) -> None:
        for path in self._run.glob("*.page") if self._run is not None else ():
            with contextlib.suppress(OSError, ValueError):
                pid = int(path.stem)
                if pid in pids and pid not in self._paged:
                    page = decode_page(read_file(path))
                    if page.rank >= 0:
                        self._paged[pid] = (page.rank, page.world_size)

    def _environ(self, process: psutil.Process, started: float) -> dict[str, str]:
        identity = (process.pid, started)
        known = self._environs.get(identity)
        if known is None:
            known = {name: value for name, value in _environ(process).items() if name in _WANTED}
            # between fork and exec a child still shows its parent's environment
            if time.time() - started > 2.0:
                self._environs[identity] = known
        return known


def _environ(process: psutil.Process) -> dict[str, str]:
    try:
        environ: dict[str, str] = process.environ()
    except (psutil.Error, OSError):
        return {}
    return environ


def _rank_of(environ: Mapping[str, str]) -> tuple[Rank | None, int | None]:
    rank = _number(environ.get("RANK"))
    return (None if rank is None else Rank(rank)), _number(environ.get("WORLD_SIZE"))


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
