"""Impure. Reads the hot words of every page: microseconds a rank, so that once a second costs nothing."""

from __future__ import annotations

import struct
import time
from pathlib import Path

from ddpdoctor.collect.page import PEEK_BYTES, decode_page, peek, read_file
from ddpdoctor.model.ranks import Role, Worker
from ddpdoctor.observe.stall import Pulse
from ddpdoctor.probe.page import OPTIMIZER_STEPS


class Pages:
    """The pages of a run, read from outside; a rank without a page says nothing here."""

    def __init__(self, run: Path | None) -> None:
        self._run = run
        self._timeouts: dict[int, float | None] = {}

    def pulse(self, workers: tuple[Worker, ...], previous: float) -> Pulse:
        """The newest movement of any rank, `previous` if none has moved since."""
        moved, steps = previous, 0
        for worker in workers:
            head = self._head(worker)
            if head is not None:
                moved = max(moved, peek(head)[2])
                steps = max(steps, int(struct.unpack_from("@Q", head, OPTIMIZER_STEPS * 8)[0]))
        timeouts = [t for t in map(self._group_timeout, workers) if t]
        return Pulse(time.monotonic(), moved, steps, min(timeouts, default=None))

    def _head(self, worker: Worker) -> bytes | None:
        if self._run is None or worker.role is not Role.RANK:
            return None
        try:
            with (self._run / f"{worker.pid}.page").open("rb") as file:
                head = file.read(PEEK_BYTES)
            peek(head)
        except (OSError, ValueError):
            return None
        return head

    def _group_timeout(self, worker: Worker) -> float | None:
        """Asked of each page until it knows it: a default group's timeout does not change."""
        if self._timeouts.get(worker.pid) is None and self._run is not None and worker.role is Role.RANK:
            try:
                self._timeouts[worker.pid] = decode_page(read_file(self._run / f"{worker.pid}.page")).group_timeout
            except (OSError, ValueError):
                return None
        return self._timeouts.get(worker.pid)
