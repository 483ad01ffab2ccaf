"""Impure. One process's page, read again and again: each reading takes only what is new."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from ddpdoctor.collect.page import IDENTITY_BYTES, decode_identity
from ddpdoctor.model.ranks import Rank
from ddpdoctor.probe import page as layout
from ddpdoctor.probe.page import RawCall, RawLoader
from ddpdoctor.probe.string_table import StringTable

#: a row of the history, as `probe.page.EVENT` unpacks it: texts are positions in the string table
Row = tuple[Any, ...]
#: places of fields in a Row
NUMBER, TIME, THREAD, SITE, GROUP, OP, CODE, FLAGS, NUMBER_AGAIN = 0, 1, 3, 4, 5, 6, 11, 12, 14
CALL = layout.EVENT_KINDS.index("call")

#: rows that are read at once
_CHUNK = 256
#: readings for which a row that is not written holds up those behind it: its thread was interrupted, or is gone
_PATIENCE = 3


class LivePage:
    """The page of a process that may still write it. Every method raises OSError if the file cannot be read, and
    ValueError if it is not a page."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._identity: tuple[Rank, int] | None = None
        #: of the default group: "gloo", "cpu:gloo,cuda:nccl"; "" as long as it is not known
        self.backend = ""
        self._next = 1
        self._waited = 0
        self.texts = StringTable()
        #: rows of the history were overwritten before they were read, or never written
        self.lost = False
        #: (thread, name of the group) of every call that was read
        self.users: set[tuple[int, str]] = set()

    def identity(self) -> tuple[Rank, int] | None:
        """The rank of the process and the number of ranks, None as long as it has no rank."""
        if self._identity is None or not self.backend:
            with self._path.open("rb", buffering=0) as file:
                found = decode_identity(file.read(IDENTITY_BYTES))
            self.backend = found.backend
            self._identity = (found.rank, found.world_size) if found.rank >= 0 else None
        return self._identity

    def calls(self) -> tuple[tuple[RawCall, ...], tuple[int, ...]]:
        """Calls in flight, each thread's outermost first, and the threads that ever communicated."""
        with self._path.open("rb", buffering=0) as file:
            region = os.pread(file.fileno(), layout.EVENTS - layout.THREADS, layout.THREADS)
            if len(region) < layout.EVENTS - layout.THREADS:
                raise ValueError("page is cut off")
            self._read_texts(file.fileno())
        return layout.read_threads(region, self.texts)

    def loaders(self) -> tuple[RawLoader, ...]:
        """What the process's data iterators did so far."""
        with self._path.open("rb", buffering=0) as file:
            counts = os.pread(file.fileno(), layout.THREADS - layout.LOADERS, layout.LOADERS)
            facts = os.pread(file.fileno(), layout.SIZE - layout.LOADER_FACTS, layout.LOADER_FACTS)
            if len(counts) < layout.THREADS - layout.LOADERS:
                raise ValueError("page is cut off")
            self._read_texts(file.fileno())
        return tuple(layout.read_loaders(counts, facts, self.texts))

    def news(self) -> list[Row]:
        """The rows that the history got since the last reading, oldest first."""
        found: list[Row] = []
        file = os.open(self._path, os.O_RDONLY)
        try:
            for _ in range(2 * layout.EVENT_ROWS // _CHUNK):
                begin = self._next
                wanted = min(_CHUNK, layout.EVENT_ROWS - begin % layout.EVENT_ROWS)
                found.extend(self._next_rows(file, wanted))
                if self._next < begin + wanted:
                    break
            self._read_texts(file)
        finally:
            os.close(file)
        self._note_users(found)
        return found

    def _next_rows(self, file: int, wanted: int) -> list[Row]:
        """The next rows of one stretch of the ring, `wanted` or fewer; empty if there are none."""
        size, place = layout.EVENT.size, self._next % layout.EVENT_ROWS
        data = os.pread(file, wanted * size, layout.EVENTS + place * size)
        data = data[: len(data) // size * size]
        found: list[Row] = []
        # one by one, since most of what is read is not written yet
        for i, row in enumerate(layout.EVENT.iter_unpack(data)):
            number = row[NUMBER]
            if number > self._next:
                return found or self._after_a_loss(file)
            if number == row[NUMBER_AGAIN] == self._next:
                found.append(row)
            elif self._gives_up(data[(i + 1) * size : (i + 2) * size]):
                self.lost = True
            else:
                # not written yet, or caught in the middle: half a row is read again, never passed over
                break
            self._next, self._waited = self._next + 1, 0
        return found

    def _after_a_loss(self, file: int) -> list[Row]:
        """All that the ring holds, which has gone round since the last reading."""
        data = os.pread(file, layout.EVENT_ROWS * layout.EVENT.size, layout.EVENTS)
        whole = data[: len(data) // layout.EVENT.size * layout.EVENT.size]
        rows = [row for row in layout.EVENT.iter_unpack(whole) if row[NUMBER] == row[NUMBER_AGAIN] > self._next]
        self.lost, self._waited = True, 0
        self._next = max((row[NUMBER] for row in rows), default=self._next) + 1
        return sorted(rows)

    def _gives_up(self, after: bytes) -> bool:
        """Whether to pass over a row that is not written although the one after it is: its thread was interrupted
        before it wrote, or is gone."""
        if not after or layout.EVENT.unpack(after)[NUMBER] != self._next + 1:
            return False
        self._waited += 1
        return self._waited > _PATIENCE

    def _read_texts(self, file: int) -> None:
        used = int.from_bytes(os.pread(file, 8, layout.TEXT_USED * 8), sys.byteorder)
        wanted = min(used, layout.TEXTS_SIZE) - self.texts.end
        if wanted > 0:
            self.texts.extend(os.pread(file, wanted, layout.TEXTS + self.texts.end))

    def _note_users(self, rows: list[Row]) -> None:
        positions = {(row[THREAD], row[GROUP]) for row in rows if row[CODE] == CALL and row[GROUP]}
        for thread, position in positions:
            if group := self.texts.group(position):
                self.users.add((thread, group[0]))
