"""The writing side of the page, which the hooks of one process call.

Several threads write, one at a time under the GIL. A read-add-store of a hot word contains no bytecode at which CPython
switches threads, and every record is one `pack_into`. There is no lock, because hooks also run inside signal handlers.
"""

from __future__ import annotations

import itertools
import json
import mmap
import os
import threading
import zlib
from time import monotonic
from typing import Any, NamedTuple

from . import page, string_table

CALL_KIND = {name: code for code, name in enumerate(page.KINDS)}
EVENT_KIND = {name: code for code, name in enumerate(page.EVENT_KINDS)}

CALL_EVENT = EVENT_KIND["call"]
_CALL, _EVENT = page.CALL.pack_into, page.EVENT.pack_into


class Operation(NamedTuple):
    """One call in the page's own codes, without references to torch objects."""

    #: code of KINDS
    kind: int
    #: text position of the name
    op: int
    #: text position of the group, 0 if there is none
    group: int = 0
    numel: int = page.NONE
    #: text position of the dtype
    dtype: int = 0
    #: global ranks
    peer: int = page.NONE
    root: int = page.NONE
    tag: int = 0
    #: page.ASYNCHRONOUS | page.TAGGED
    flags: int = 0
    detail: bytes = b""


class Slot:
    """One thread's row. Only its own thread writes it, except for the reaper, after the thread has ended."""

    __slots__ = (
        *("depth", "forward_group", "ident", "in_backward", "inside", "prepared", "published", "row", "synchronised"),
        *("thread", "word"),
    )

    def __init__(self, row: int, thread: int) -> None:
        self.row = page.THREADS + row * page.THREAD_SIZE
        self.word = self.row // 8
        self.thread = thread
        #: Python's number of the thread that makes this row
        self.ident = threading.get_ident()
        self.published = row < page.THREAD_ROWS
        self.depth = 0
        #: inside a communication call, whose inner calls are not recorded
        self.inside = False
        self.in_backward = False
        #: process group of the DDP module whose forward is running
        self.forward_group: Any = None
        #: whether a reducer was prepared since the last backward; None before any was
        self.prepared: bool | None = None
        #: (number of the module, text position of its group) of the newest forward whose backward communicates
        self.synchronised = (page.NONE, 0)


class PageWriter:
    """The page of this process. Raises OSError if the file or its blocks cannot be allocated."""

    def __init__(self, path: str, identity: dict[str, Any]) -> None:
        self.path = path
        self.identity = identity
        self._map = _reserve(path + ".new")
        self._words = memoryview(self._map).cast("Q")
        self._clocks = memoryview(self._map).cast("d")
        self._texts: dict[Any, int] = {}
        self._text_end = 0
        self._texts_lost = False
        self._numbers = itertools.count(1)
        self._slots: dict[int, Slot] = {}
        self._local = threading.local()
        self._loaders: dict[int, int] = {}
        page.HEAD.pack_into(self._map, 0, page.MAGIC, page.VERSION, page.SIZE, 0)
        self._clocks[page.HEARTBEAT] = self._clocks[page.MOVED] = monotonic()
        self.identify()
        os.rename(path + ".new", path)

    def identify(self, **changes: Any) -> None:
        """Write the identity note with changes: rank, world size and backend are known only after the rendezvous."""
        self.identity.update(changes)
        self._note(page.IDENTITY, page.IDENTITY_SIZE, self.identity)
        self.moved()

    def beat(self) -> None:
        self._clocks[page.HEARTBEAT] = monotonic()

    def still(self) -> float:
        """Seconds since anything except the heartbeat was written."""
        return monotonic() - self._clocks[page.MOVED]

    def moved(self) -> None:
        self._words[page.REVISION] += 1
        self._clocks[page.MOVED] = monotonic()

    def count(self, word: int) -> None:
        """Increment a counter, given as its hot word."""
        self._words[word] += 1
        self._words[page.REVISION] += 1
        self._clocks[page.MOVED] = monotonic()

    def text(self, value: Any) -> int:
        """The position of a name, a site (file, line, function) or a group (name, description, runs); 0 if the log is
        full."""
        position = self._texts.get(value)
        if position is None:
            position = self._append(value, page.TEXTS_SIZE - page.TEXTS_KEPT)
        return position

    def unnamed_group(self) -> int:
        """The position of what stands for each group that the log has no room for: who else is in it is not known, so
        it has this rank alone."""
        group = (string_table.UNNAMED, "", ((self.identity["rank"], 1),))
        return self._texts.get(group) or self._append(group, page.TEXTS_SIZE)

    def _append(self, value: Any, limit: int) -> int:
        payload = string_table.encode(value).encode()
        size = string_table.HEAD.size + len(payload)
        # space is reserved before it is filled: a signal handler or another thread may append between these lines
        start = self._text_end
        if start + size > limit:
            self._texts_lost = True
            self._words[page.TEXT_USED] = page.TEXTS_SIZE + 1
            return 0
        self._text_end = start + size
        at = page.TEXTS + start
        self._map[at + string_table.HEAD.size : at + size] = payload
        string_table.HEAD.pack_into(self._map, at, len(payload))
        if not self._texts_lost:
            self._words[page.TEXT_USED] = self._text_end
        position = self._texts[value] = start + 1
        return position

    def frame(self, site: int, caller: int) -> int:
        """The position of a frame of a path: the position of its place, and that of the frame that called it (0 for
        none).

        0 if the log is half full: a program of very many paths must leave room for its places and groups.
        """
        key = (site, caller)
        if key not in self._texts and self._text_end > page.TEXTS_SIZE // 2:
            return 0
        return self.text(key)

    def slot(self) -> Slot:
        """This thread's row. Threads beyond the number of rows share one that is not published."""
        try:
            slot: Slot = self._local.slot
        except AttributeError:
            slot = self._local.slot = self._new_slot()
        return slot

    def _new_slot(self) -> Slot:
        thread = threading.get_native_id()
        for row in range(page.THREAD_ROWS):
            slot = Slot(row, thread)
            # setdefault is atomic: two new threads never get the same row
            if row not in self._slots and self._slots.setdefault(row, slot) is slot:
                self._words[slot.word + 1] = 0
                self._words[slot.word + 2] = 0
                self._words[slot.word + 3] = slot.ident
                self._words[slot.word] = thread
                return slot
        return Slot(page.THREAD_ROWS, thread)

    def reap(self) -> None:
        """Free the rows of threads that have ended."""
        for row, slot in tuple(self._slots.items()):
            if not os.path.exists(f"/proc/self/task/{slot.thread}"):
                self._words[slot.word] = 0
                del self._slots[row]

    def enter(self, slot: Slot, operation: Operation, place: tuple[int, int], code: int = 0, word: int = 0) -> None:
        """Record a call in flight on top of this thread's stack; `leave` with the previous depth removes it.

        `place`: text positions of the line of the job and of the path of calls. `code` of EVENT_KINDS also adds it to
        the history (0: does not), and `word` is a counter to increment.
        """
        words, depth, now = self._words, slot.depth, monotonic()
        # reserved before it is written: a signal handler that communicates in between uses the next level
        slot.depth = depth + 1
        kind, op, group, numel, dtype, peer, root, tag, flags, detail = operation
        thread, (site, path) = slot.thread, place
        if depth < page.CALL_DEPTH and slot.published:
            number = words[page.REVISION] + 1
            at = slot.row + page.THREAD_HEAD + depth * page.CALL.size
            what = (numel, thread, site, group, op, dtype, peer, root, tag, kind, flags, detail, path)
            _CALL(self._map, at, number, now, *what, number)
            words[slot.word + 1] = depth + 1
        if code:
            number = next(self._numbers)
            at = page.EVENTS + number % page.EVENT_ROWS * page.EVENT.size
            flags |= kind << page.KIND_SHIFT
            event = (numel, thread, site, group, op, dtype, peer, root, tag, code, flags, path)
            _EVENT(self._map, at, number, now, *event, number)
            if code == CALL_EVENT and slot.published:
                words[slot.word + 2] = 1
        if word:
            words[word] += 1
        words[page.REVISION] += 1
        self._clocks[page.MOVED] = now

    def leave(self, slot: Slot, depth: int, word: int = 0) -> None:
        """Reduce the calls in flight to `depth`, whatever was lost on the way (an exception inside `enter`).

        `word` is a counter to increment, 0 for none.
        """
        words = self._words
        slot.depth = depth
        if slot.published:
            words[slot.word + 1] = depth if depth < page.CALL_DEPTH else page.CALL_DEPTH
        if word:
            words[word] += 1
        words[page.REVISION] += 1
        self._clocks[page.MOVED] = monotonic()

    def mark(
        self, word: int, code: int, thread: int, place: tuple[int, int], about: tuple[int, int, int] = (-1, 0, 0)
    ) -> None:
        """Increment a counter, and add an event to the history that is not a communication call.

        `about` a forward: the number of its module, the text position of its group, flags.
        """
        words, clocks = self._words, self._clocks
        number, now = next(self._numbers), monotonic()
        site, path = place
        module, group, flags = about
        words[word] += 1
        at = page.EVENTS + number % page.EVENT_ROWS * page.EVENT.size
        _EVENT(self._map, at, number, now, module, thread, site, group, 0, 0, -1, -1, 0, code, flags, path, number)
        words[page.REVISION] += 1
        clocks[page.MOVED] = now

    def loader(self, site: int) -> int:
        """The row of a creation site of data iterators, as its first hot word; the last row is shared by all further
        sites."""
        row = self._loaders.get(site)
        if row is None:
            row = self._loaders[site] = min(len(self._loaders), page.LOADER_ROWS - 1)
            word = page.LOADERS // 8 + row * page.LOADER_WORDS
            self._words[word] = site
        return page.LOADERS // 8 + row * page.LOADER_WORDS

    def made_iterator(self, site: int, length: int | None) -> None:
        """Count a data iterator at the place that created it; `length` is its number of batches, None if it has none.
        Not a movement."""
        row = (self.loader(site) - page.LOADERS // 8) // page.LOADER_WORDS
        word = page.LOADER_FACTS // 8 + row * page.LOADER_FACT_WORDS
        self._words[word] += 1
        self._words[word + 1] = 0 if length is None else length + 1

    def pending(self, raised: list[Any]) -> None:
        """Write the exceptions that are being handled; not a movement."""
        self._note(page.PENDING, page.PENDING_SIZE, raised)

    def stacks(self, stacks: dict[str, Any]) -> None:
        """Write the stacks of this process; not a movement. Raises ValueError if they do not fit."""
        self._note(page.STACKS, page.STACKS_SIZE, stacks)

    def revision(self) -> int:
        """The number of writes so far, those of the heartbeat aside."""
        return int(self._words[page.REVISION])

    def threads(self) -> dict[int, int]:
        """Python's number of every thread with a row -> the kernel's."""
        return {slot.ident: slot.thread for slot in tuple(self._slots.values())}

    def ending(self, ending: dict[str, Any]) -> None:
        self._note(page.ENDING, page.ENDING_SIZE, ending)
        self.moved()

    def _note(self, offset: int, size: int, value: Any) -> None:
        payload = json.dumps(value).encode()
        if len(payload) > size - page.NOTE.size:
            raise ValueError(f"note of {len(payload)} bytes does not fit")
        start = offset + page.NOTE.size
        self._map[start : start + len(payload)] = payload
        page.NOTE.pack_into(self._map, offset, len(payload), zlib.crc32(payload))


def _reserve(path: str) -> mmap.mmap:
    """A zeroed file of the page's size, with its blocks allocated: a full disk must fail here, not as SIGBUS in the
    job."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, page.SIZE)
        return mmap.mmap(descriptor, page.SIZE)
    finally:
        os.close(descriptor)


def started_ticks() -> int:
    """This process's start in clock ticks since boot: field 22 of /proc/self/stat, counted after the name's `)`."""
    with open("/proc/self/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[19])
