"""What watchers write for each other: small, checked JSON without source, arguments or environment.

Times are ages or lengths, in seconds: the clocks of two nodes have nothing in common.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from ddpdoctor.model import json_text
from ddpdoctor.model.codec import decode, encode
from ddpdoctor.model.ranks import Rank, RankSet

T = TypeVar("T")

#: ranks of one node
MOST_RANKS = 4096
#: bytes that one message may have when it is unpacked
MOST_BYTES = 64 << 20


class Why(Enum):
    """Why an episode was opened."""

    #: nothing has moved for some seconds: a deadlock may be proven
    STILL = "still"
    #: nothing has moved for as long as a stall takes
    STALLED = "stalled"
    #: a rank has failed: the store may live for a few seconds only
    FAILURE = "failure"
    #: somebody asked
    LOOK = "look"


@dataclass(frozen=True, slots=True)
class Entry:
    """A watcher and what it sees; `node` is its lowest rank."""

    node: Rank
    host: str
    #: as RankSet writes it
    ranks: str
    #: which CLOCK_MONOTONIC its times are of
    clock: str = ""

    @property
    def members(self) -> RankSet:
        return RankSet.parse(self.ranks)


@dataclass(frozen=True, slots=True)
class Opening:
    """Who leads an episode, and why it was opened."""

    leader: Rank
    why: Why


class Doing(Enum):
    """What a rank does, as its page alone shows it."""

    WAITING = "waiting"
    BUSY = "busy"
    STOPPED = "stopped"
    ENDED = "ended"
    #: it has no page
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Ranks of one node that do the same; what differs between ranks that behave alike is left out."""

    ranks: str
    doing: Doing
    #: the call that it waits in, and the place of it in the program
    op: str = ""
    group: str = ""
    site: str = ""
    #: batches, ends of data, forwards, backwards, steps
    counts: tuple[int, ...] = ()
    #: of what it did last
    history: str = ""


@dataclass(frozen=True, slots=True)
class Digest:
    """What one node tells first."""

    node: Rank
    #: since anything of its ranks has moved
    still: float
    behaviours: tuple[Behaviour, ...]
    #: whether this node's watcher would stop the job
    stops: bool = False

    @property
    def members(self) -> RankSet:
        return RankSet.of(rank for one in self.behaviours for rank in RankSet.parse(one.ranks))


@dataclass(frozen=True, slots=True)
class Absent:
    """Ranks that no digest came of, and why."""

    ranks: str
    host: str
    reason: str

    def __str__(self) -> str:
        members = RankSet.parse(self.ranks)
        who = f"rank{'s' * (len(members) > 1)} {members}"
        return f"{self.host} ({who}) {self.reason}" if self.host else f"{who}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Call:
    """What the leader wants of every node: the parts of these ranks, or nothing more because of `over`."""

    ranks: str
    absent: tuple[Absent, ...] = ()
    #: why there is no verdict this time, "" if there will be one
    over: str = ""


def pack(message: object) -> bytes:
    return zlib.compress(json.dumps(encode(message), separators=(",", ":")).encode(), 6)


def unpack(kind: type[T], data: bytes) -> T:
    """Raises ValueError for what is no such message."""
    return decode(kind, json_text.parsed(inflated(data)))


def inflated(data: bytes) -> bytes:
    """Raises ValueError for what is damaged or too large."""
    unpacker = zlib.decompressobj()
    try:
        found = unpacker.decompress(data, MOST_BYTES)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not unpacker.eof:
        raise ValueError("a message that is cut off, or too large")
    return found


def claim(opening: Opening) -> bytes:
    """What opens an episode, as text: torch's `compare_set` takes nothing else."""
    return json.dumps(encode(opening)).encode()


def claimed(data: bytes) -> Opening:
    """Raises ValueError for anything else."""
    return decode(Opening, json_text.parsed(data))


def line(entry: Entry) -> bytes:
    """An entry as a line of the list of watchers."""
    return json.dumps(encode(entry), separators=(",", ":")).encode() + b"\n"


def entries(lines: bytes) -> Iterator[Entry]:
    """The watchers on the list; one that has registered again is on it twice. A damaged line is left out."""
    for one in lines.splitlines():
        try:
            yield decode(Entry, json_text.parsed(one))
        except ValueError:
            continue


def registered(data: bytes) -> RankSet:
    """The ranks of a node whose probe has said that it is watched (probe/meeting_place.py)."""
    match json_text.parsed(data):
        case {"rank": int(first), "ranks": int(number)} if 0 <= number <= MOST_RANKS:
            return RankSet.of(range(first, first + max(1, number)))
    return RankSet()
