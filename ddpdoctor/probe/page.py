"""The layout of the page and its reader. Uses only the standard library: workers and the supervisor share this file.

A page is one file of fixed size in native byte order, written through mmap by one process and read from outside without
locks. Nothing in it is ever freed; it consists of:

- hot words: aligned 8-byte counters and clocks, each written by a single store, so never torn;
- records (calls in flight, history): the record's number is at both ends, a torn record has two different numbers;
- notes (identity, ending, exceptions being handled, lock files, stacks): length and CRC, then JSON;
- texts: an append-only log of JSON values (places, paths of calls, groups, names) that records refer to by offset,
  counted from 1.

Writers are threads of one process under its GIL, and each record is one `pack_into`: there is no lock that a signal
handler, a fork or a killed thread could leave held. A copy of the whole page is consistent if the revision is the same
before and after it (see `read_file`).
"""

from __future__ import annotations

import json
import struct
import sys
import zlib
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from .string_table import StringTable

MAGIC = b"ddpdpage"
#: 2 has stacks behind what 1 has, 3 facts of loaders behind those; pages of all versions are read
VERSION = 3
HEAD = struct.Struct("=8sIIQ")

#: seconds between two heartbeats
HEARTBEAT_SECONDS = 1.0
#: hot words, as indices into the page seen as an array of 8-byte words
REVISION, HEARTBEAT, MOVED, TEXT_USED = 8, 9, 10, 11
FORWARDS, FORWARDS_NO_SYNC, BACKWARD_ENTERED, BACKWARD_LEFT, OPTIMIZER_STEPS = 12, 13, 14, 15, 16
#: how often data iterators raised something other than StopIteration
LOADER_FAILURES = 17
#: bytes that `peek` needs
PEEK_BYTES = 256

IDENTITY, IDENTITY_SIZE = 256, 4096 - 256
#: bytes that `read_identity` needs
IDENTITY_BYTES = IDENTITY + IDENTITY_SIZE
ENDING, ENDING_SIZE = 4096, 32768
PENDING, PENDING_SIZE = ENDING + ENDING_SIZE, 32768
#: bytes that `read_pending` needs
PENDING_BYTES = PENDING + PENDING_SIZE
NOTE = struct.Struct("=II")

#: per creation site of data iterators: text position of the site (0 if unknown), delivered, stops
LOADERS, LOADER_ROWS, LOADER_WORDS = PENDING + PENDING_SIZE, 256, 3

#: per thread: kernel thread id, depth of nested calls, whether it ever communicated, Python's number of it (0 in older
#: pages); then its calls
THREADS, THREAD_ROWS, CALL_DEPTH = LOADERS + LOADER_ROWS * LOADER_WORDS * 8, 64, 4
THREAD_HEAD = 32
#: number, time, numel, thread, site, group, op, dtype, peer, root, tag, kind, flags, (detail), path, number; the path
#: takes bytes that were padding, which is zero in the pages of versions that recorded no path
CALL = struct.Struct("@QdqIIIIIiiiBB2x64sIQ")
THREAD_SIZE = THREAD_HEAD + CALL_DEPTH * CALL.size

EVENTS, EVENT_ROWS = THREADS + THREAD_ROWS * THREAD_SIZE, 4096
EVENT = struct.Struct("@QdqIIIIIiiiBB2xIQ")

TEXTS, TEXTS_SIZE = EVENTS + EVENT_ROWS * EVENT.size, 512 * 1024
#: bytes of the log that are kept for what stands for the groups that it has no room for
TEXTS_KEPT = 256
#: the stacks that the process takes of itself while nothing moves
STACKS, STACKS_SIZE = TEXTS + TEXTS_SIZE, 64 * 1024
#: per row of LOADERS: iterators made, batches of the newest plus one (0: not known)
LOADER_FACTS, LOADER_FACT_WORDS = STACKS + STACKS_SIZE, 2
SIZE = LOADER_FACTS + LOADER_ROWS * LOADER_FACT_WORDS * 8
#: version -> size of its pages; all have what they share at the same place
_SIZES = {1: STACKS, 2: LOADER_FACTS, VERSION: SIZE}

#: what a call waits for: the values of the model's Kind, indexed by code
KINDS = ("none", "all", "from_root", "to_root", "send", "recv", "wait", "store", "backward")
#: what an event is: the values of the model's EventKind, indexed by code
EVENT_KINDS = (
    "none",
    "call",
    "next",
    "stop_iteration",
    "forward",
    "forward_no_sync",
    "backward",
    "optimizer_step",
    "next_raised",
)
#: flags: asynchronous; tag is set; a forward with gradients on; bits 4-7 of an event hold its call's kind
ASYNCHRONOUS, TAGGED, GRADIENTS, KIND_SHIFT = 1, 2, 4, 4
#: flags of a backward: no reducer of DDP was prepared for it, or one was; none of them in pages of older versions, or
#: where no reducer was ever prepared
UNREDUCED, REDUCES = 4, 8
#: numel, peer or root is not known
NONE = -1


class RawCall(NamedTuple):
    """A call or event of the page, with codes and text positions resolved."""

    number: int
    event: str
    kind: str
    time: float
    thread: int
    site: tuple[str, int, str] | None
    group: tuple[str, str, tuple[int, ...]] | None
    op: str
    dtype: str | None
    numel: int | None
    peer: int | None
    root: int | None
    tag: int | None
    asynchronous: bool
    detail: str
    #: index in the thread's stack of calls, 0 is the outermost
    depth: int
    #: the frames outside torch that led to it, innermost first; empty in pages of versions that recorded none
    path: tuple[tuple[str, int, str], ...] = ()
    #: of a backward, whether DDP averages gradients in it; None if that is not known
    reduces: bool | None = None


class RawLoader(NamedTuple):
    """What the data iterators that were created at one place did."""

    site: tuple[str, int, str]
    delivered: int
    stops: int
    #: iterators made, 0 in pages of versions that did not count them
    made: int
    #: batches of the newest, None if it has no length
    length: int | None


class RawPage(NamedTuple):
    """The whole content of a page, as plain values."""

    identity: dict[str, Any]
    revision: int
    heartbeat: float
    moved: float
    #: forwards, forwards without sync, backward entered, backward left, optimizer steps
    counts: tuple[int, int, int, int, int]
    loaders: tuple[RawLoader, ...]
    groups: tuple[tuple[str, str, tuple[int, ...]], ...]
    calls: tuple[RawCall, ...]
    events: tuple[RawCall, ...]
    events_lost: int
    communicating: tuple[int, ...]
    #: (Python's number, kernel thread id) of threads
    numbers: tuple[tuple[int, int], ...]
    pending: list[Any]
    ending: dict[str, Any] | None
    #: as `thread_stacks` describes them; None if none were taken, or the page's version has none
    stacks: dict[str, Any] | None
    #: the log of texts had no room for some: what they name is not known
    texts_lost: bool


def peek(data: bytes) -> tuple[int, float, float]:
    """(revision, heartbeat, moved) from the first PEEK_BYTES of a page. Raises ValueError if it is not a page."""
    if len(data) < PEEK_BYTES:
        raise ValueError(f"page is cut off after {len(data)} bytes")
    magic, version, size, _ = HEAD.unpack_from(data)
    if magic != MAGIC or _SIZES.get(version) != size:
        raise ValueError("not a page of a version that is known")
    revision: int
    revision, heartbeat, moved = struct.unpack_from("@Qdd", data, REVISION * 8)
    return revision, _clock(heartbeat), _clock(moved)


def read_identity(data: bytes) -> dict[str, Any]:
    """The identity note, from the first IDENTITY_BYTES. Raises ValueError if it is not a page or is being written."""
    peek(data)
    if len(data) < IDENTITY_BYTES:
        raise ValueError(f"page is cut off after {len(data)} bytes")
    identity = _note(data, IDENTITY, IDENTITY_SIZE)
    if not isinstance(identity, dict):
        raise ValueError("page has no identity")
    return identity


def read_pending(data: bytes) -> list[Any]:
    """The notes on exceptions and lock files, from the first PENDING_BYTES. Raises ValueError if it is not a page."""
    peek(data)
    if len(data) < PENDING_BYTES:
        raise ValueError(f"page is cut off after {len(data)} bytes")
    found = _note(data, PENDING, PENDING_SIZE)
    return found if isinstance(found, list) else []


def read_stacks(path: Path) -> tuple[int, float, dict[str, Any] | None]:
    """(revision, heartbeat, stacks) of a live page, without the rest of it; None for stacks that were not taken yet, or
    that are being written.

    Raises OSError if the file cannot be read and ValueError if it is not a page.
    """
    with path.open("rb") as file:
        head = file.read(PEEK_BYTES)
        revision, heartbeat, _ = peek(head)
        file.seek(STACKS)
        region = file.read(STACKS_SIZE) if HEAD.unpack_from(head)[2] > STACKS else b""
    stacks = _note(region, 0, STACKS_SIZE) if len(region) == STACKS_SIZE else None
    return revision, heartbeat, stacks if isinstance(stacks, dict) else None


def read(data: bytes) -> RawPage:
    """Read a whole page. Raises ValueError for damage that affects all of it.

    Torn records are left out (those of the history are counted as lost); memory is bounded by the page's size.
    """
    revision, heartbeat, moved = peek(data)
    size = HEAD.unpack_from(data)[2]
    if len(data) < size:
        raise ValueError(f"page is cut off after {len(data)} bytes")
    identity = _note(data, IDENTITY, IDENTITY_SIZE)
    if not isinstance(identity, dict):
        raise ValueError("page has no identity")
    used = int.from_bytes(data[TEXT_USED * 8 : TEXT_USED * 8 + 8], sys.byteorder)
    texts = StringTable(data[TEXTS : TEXTS + min(used, TEXTS_SIZE)])
    events, lost = _events(data, texts)
    calls, communicating = read_threads(data[THREADS:EVENTS], texts)
    ending = _note(data, ENDING, ENDING_SIZE)
    stacks = _note(data, STACKS, STACKS_SIZE) if size > STACKS else None
    return RawPage(
        identity=identity,
        revision=revision,
        heartbeat=heartbeat,
        moved=moved,
        counts=struct.unpack_from("@5Q", data, FORWARDS * 8),
        loaders=tuple(read_loaders(data[LOADERS:THREADS], data[LOADER_FACTS:SIZE], texts)),
        groups=texts.groups(),
        calls=calls,
        events=events,
        events_lost=lost,
        communicating=communicating,
        numbers=_numbers(data),
        pending=read_pending(data),
        ending=ending if isinstance(ending, dict) else None,
        stacks=stacks if isinstance(stacks, dict) else None,
        texts_lost=used > TEXTS_SIZE,
    )


def read_file(path: Path, attempts: int = 3) -> bytes:
    """Copy a live page, again if it changes during the copy. The last copy is accepted, as torn records are detected.

    Raises OSError if the file cannot be read and ValueError if it is not a page.
    """
    for attempt in range(attempts):
        data = path.read_bytes()
        with path.open("rb") as file:
            after = peek(file.read(PEEK_BYTES))
        if after[0] == peek(data)[0] or attempt == attempts - 1:
            return data
    raise ValueError("a page needs at least one attempt")


def _clock(value: float) -> float:
    return value if 0.0 <= value < 1e15 else 0.0


def _note(data: bytes, offset: int, size: int) -> Any:
    """The JSON value of a note; None if nothing, or only a part, was written."""
    length, check = NOTE.unpack_from(data, offset)
    start = offset + NOTE.size
    if not 0 < length <= size - NOTE.size:
        return None
    payload = data[start : start + length]
    if zlib.crc32(payload) != check:
        return None
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        return None


def _record(fields: tuple[Any, ...], texts: StringTable, event: str, kind: int) -> RawCall:
    """A record without its detail, at depth 0; `kind` is a position in KINDS."""
    number, time, numel, thread, site, group, op, dtype, peer, root, tag, _, flags, path = fields
    return RawCall(
        number=number,
        event=event,
        kind=KINDS[kind] if kind < len(KINDS) else KINDS[0],
        time=_clock(time),
        thread=thread,
        site=texts.site(site),
        group=texts.group(group),
        op=texts.name(op) or "",
        dtype=texts.name(dtype),
        numel=numel if numel >= 0 else None,
        peer=peer if peer >= 0 else None,
        root=root if root >= 0 else None,
        tag=tag if flags & TAGGED else None,
        asynchronous=bool(flags & ASYNCHRONOUS),
        detail="",
        depth=0,
        path=texts.path(path),
        reduces=reduces(flags) if event == "backward" else None,
    )


def reduces(flags: int) -> bool | None:
    """What the flags of a backward say of `RawCall.reduces`."""
    return bool(flags & REDUCES) if flags & (UNREDUCED | REDUCES) else None


def _events(data: bytes, texts: StringTable) -> tuple[tuple[RawCall, ...], int]:
    """The ring, oldest event first, and the number of events lost before or inside it."""
    found: list[RawCall] = []
    region = memoryview(data)[EVENTS : EVENTS + EVENT_ROWS * EVENT.size]
    for row, fields in enumerate(EVENT.iter_unpack(region)):
        number, code, flags = fields[0], fields[11], fields[12]
        if number == 0 or number != fields[14] or number % EVENT_ROWS != row or not 0 < code < len(EVENT_KINDS):
            continue
        found.append(_record(fields[:14], texts, EVENT_KINDS[code], flags >> KIND_SHIFT))
    found.sort(key=lambda event: event.number)
    # a number that a ring of this size cannot hold together with the newest one is damage
    newest = found[-1].number if found else 0
    kept = tuple(event for event in found if newest - event.number < EVENT_ROWS)
    return kept, newest - len(kept)


def read_threads(region: bytes, texts: StringTable) -> tuple[tuple[RawCall, ...], tuple[int, ...]]:
    """Calls in flight, each thread's outermost first, and the threads that ever communicated, from the bytes between
    THREADS and EVENTS."""
    calls: list[RawCall] = []
    communicating: list[int] = []
    # the lowest free row is taken, and most jobs need few
    for row in range(-(-len(region.rstrip(b"\0")) // THREAD_SIZE)):
        start = row * THREAD_SIZE
        thread, depth, communicated, _ = struct.unpack_from("@4Q", region, start)
        if not 0 < thread < 1 << 32:
            continue
        if communicated:
            communicating.append(thread)
        for level in range(min(depth, CALL_DEPTH)):
            fields = CALL.unpack_from(region, start + THREAD_HEAD + level * CALL.size)
            if fields[0] == fields[15] and 0 < fields[11] < len(KINDS):
                detail = fields[13].rstrip(b"\0").decode("utf-8", "replace")
                record = _record((*fields[:13], fields[14]), texts, "call", fields[11])
                calls.append(record._replace(detail=detail, depth=level))
    return tuple(calls), tuple(communicating)


def _numbers(data: bytes) -> tuple[tuple[int, int], ...]:
    """Python's and the kernel's number of each thread; not of those that two rows have, for one of these has ended."""
    rows = [struct.unpack_from("@4Q", data, THREADS + row * THREAD_SIZE) for row in range(THREAD_ROWS)]
    pairs = [(own, thread) for thread, _, _, own in rows if own and 0 < thread < 1 << 32]
    times = Counter(own for own, _ in pairs)
    return tuple((own, thread) for own, thread in pairs if times[own] == 1)


def read_loaders(counts: bytes, facts: bytes, texts: StringTable) -> list[RawLoader]:
    """The data iterators, from the bytes of both tables; the second is empty in older pages."""
    rows: list[RawLoader] = []
    known = len(facts) >= LOADER_ROWS * LOADER_FACT_WORDS * 8
    # rows are taken in order, and most jobs need few
    used = -(-len(counts.rstrip(b"\0")) // (LOADER_WORDS * 8))
    for row in range(used):
        position, delivered, stops = struct.unpack_from("@3Q", counts, row * LOADER_WORDS * 8)
        made, length = struct.unpack_from("@2Q", facts, row * LOADER_FACT_WORDS * 8) if known else (0, 0)
        if delivered or stops or made:
            site = texts.site(position) or ("", 0, "")
            rows.append(RawLoader(site, delivered, stops, made, length - 1 if length else None))
    return rows
