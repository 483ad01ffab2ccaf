"""Impure. Reads the first words of every page, which takes microseconds per rank."""

from __future__ import annotations

import contextlib
import os
import struct
import time
from pathlib import Path

from ddpdoctor.collect.page import IDENTITY_BYTES, PEEK_BYTES, decode_identity, decode_page, peek, read_file
from ddpdoctor.model.ranks import Group, Role, Worker
from ddpdoctor.observe.pace import Head
from ddpdoctor.observe.stall import Pulse
from ddpdoctor.probe.page import FORWARDS


class PagePoller:
    """The pages of a run, read from outside; a rank without a page is left out."""

    def __init__(self, run: Path | None) -> None:
        self._run = run
        self._timeouts: dict[int, float] = {}
        self._paths: dict[int, str] = {}

    def pulse(self, workers: tuple[Worker, ...], previous: float) -> Pulse:
        """The newest movement of any rank, `previous` if none has moved since."""
        moved, pages = previous, 0
        heads: list[Head] = []
        for worker in workers:
            head = self._head(worker)
            if head is not None:
                pages += 1
                at = peek(head)[2]
                moved = max(moved, at)
                forwards, _, backwards, _, steps = struct.unpack_from("@5Q", head, FORWARDS * 8)
                heads.append(Head(-1 if worker.rank is None else worker.rank, steps, backwards, forwards, at))
        timeout = min(self._timeouts.values(), default=None)
        return Pulse(time.monotonic(), moved, max((h.steps for h in heads), default=0), pages, timeout, tuple(heads))

    def groups(self, workers: tuple[Worker, ...]) -> tuple[frozenset[Group], bool]:
        """The process groups that any rank has made, and whether these are all. Reads whole pages: for once."""
        found, whole = set[Group](), True
        for worker in workers:
            if self._run is not None and worker.role is Role.RANK:
                with contextlib.suppress(OSError, ValueError):
                    page = decode_page(read_file(self._run / f"{worker.pid}.page"))
                    found.update(page.groups)
                    whole = whole and not page.texts_lost
        return frozenset(found), whole

    def _head(self, worker: Worker) -> bytes | None:
        """The page's first bytes; more of them until they contain the default group's timeout, which is constant."""
        if self._run is None or worker.role is not Role.RANK:
            return None
        known = worker.pid in self._timeouts
        path = self._paths.get(worker.pid)
        if path is None:
            path = self._paths[worker.pid] = os.fspath(self._run / f"{worker.pid}.page")
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                head = os.read(file, PEEK_BYTES if known else IDENTITY_BYTES)
            finally:
                os.close(file)
            peek(head)
            timeout = None if known else decode_identity(head).group_timeout
        except (OSError, ValueError):
            return None
        if timeout is not None:
            self._timeouts[worker.pid] = timeout
        return head
