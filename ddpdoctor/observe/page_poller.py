"""Impure. Reads the first words of every page, which takes microseconds per rank, so it can be done twice a second."""

from __future__ import annotations

import struct
import time
from pathlib import Path

from ddpdoctor.collect.page import IDENTITY_BYTES, PEEK_BYTES, decode_identity, peek
from ddpdoctor.model.ranks import Role, Worker
from ddpdoctor.observe.stall import Pulse
from ddpdoctor.probe.page import OPTIMIZER_STEPS


class PagePoller:
    """The pages of a run, read from outside; a rank without a page is left out."""

    def __init__(self, run: Path | None) -> None:
        self._run = run
        self._timeouts: dict[int, float] = {}

    def pulse(self, workers: tuple[Worker, ...], previous: float) -> Pulse:
        """The newest movement of any rank, `previous` if none has moved since."""
        moved, steps, pages = previous, 0, 0
        for worker in workers:
            head = self._head(worker)
            if head is not None:
                pages += 1
                moved = max(moved, peek(head)[2])
                steps = max(steps, int(struct.unpack_from("@Q", head, OPTIMIZER_STEPS * 8)[0]))
        return Pulse(time.monotonic(), moved, steps, pages, min(self._timeouts.values(), default=None))

    def _head(self, worker: Worker) -> bytes | None:
        """The page's first bytes; more of them until they contain the default group's timeout, which is constant."""
        if self._run is None or worker.role is not Role.RANK:
            return None
        known = worker.pid in self._timeouts
        try:
            with (self._run / f"{worker.pid}.page").open("rb", buffering=0) as file:
                head = file.read(PEEK_BYTES if known else IDENTITY_BYTES)
            peek(head)
            timeout = None if known else decode_identity(head).group_timeout
        except (OSError, ValueError):
            return None
        if timeout is not None:
            self._timeouts[worker.pid] = timeout
        return head
