"""Communication operations: in flight, in the history, and in the Flight Recorder."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ddpdoctor.model.kinds import COLLECTIVE as COLLECTIVE
from ddpdoctor.model.kinds import Kind as Kind
from ddpdoctor.model.ranks import Group, Rank
from ddpdoctor.model.stacks import Site


@dataclass(frozen=True, slots=True)
class Call:
    """A communication call of one thread: in flight, or in the history as it was when it was entered."""

    kind: Kind
    #: canonical c10d name, e.g. "all_reduce", "all_gather_into_tensor", "isend"
    op: str
    #: kernel thread id
    thread: int
    #: the innermost line of the job's own code that led to the call; of a library if there is none
    site: Site | None
    #: CLOCK_MONOTONIC seconds at entry
    since: float
    group: Group | None = None
    #: global rank of the peer (send, recv); None in a recv means any source
    peer: Rank | None = None
    #: global rank of the root (broadcast, reduce, gather, scatter)
    root: Rank | None = None
    tag: int | None = None
    numel: int | None = None
    dtype: str | None = None
    #: issued with async_op=True, isend or irecv: a return proves nothing, and being inside it blocks no other rank
    asynchronous: bool = False
    #: store key(s), or another short qualifier
    detail: str = ""
    #: the frames outside torch that led to the call, innermost first; empty if they were not recorded
    path: tuple[Site, ...] = ()


@dataclass(frozen=True, slots=True)
class RecorderEntry:
    """One collective in torch's Flight Recorder."""

    seq: int
    #: canonical op name without the backend prefix
    op: str
    backend: str
    #: group name, matched with a Group of the page; pg_id is local to the process and is not kept
    group: str
    input_sizes: tuple[tuple[int, ...], ...]
    input_dtypes: tuple[str, ...]
    #: nanoseconds since the epoch
    created_ns: int
    #: "scheduled", "started", "completed"; gloo never leaves "scheduled"
    state: str
    #: finished; on gloo the only indication of that
    retired: bool
    #: where the user's code issued it, None if the recorder was read without frames
    site: Site | None = None
    #: a send or recv; its seq counts point-to-point operations only
    p2p: bool = False
    #: global rank of the peer of a send or recv
    peer: Rank | None = None
    #: given up by the backend's watchdog: retired without having completed
    timed_out: bool = False

    @property
    def numel(self) -> int:
        """Number of input elements; 0 for a barrier."""
        return sum(math.prod(shape) for shape in self.input_sizes)


@dataclass(frozen=True, slots=True)
class Recorder:
    """A rank's Flight Recorder ring, oldest entry first."""

    version: str
    entries: tuple[RecorderEntry, ...]
    #: the rank's groups if the dump lists them
    groups: tuple[Group, ...] = ()
    #: older entries were overwritten
    truncated: bool = False
    #: nanoseconds since the epoch when the newest entry was issued, 0 if unknown
    newest_ns: int = 0

    def outstanding(self) -> tuple[RecorderEntry, ...]:
        """Collectives that were issued and are not finished, oldest first."""
        return tuple(e for e in self.entries if not e.retired and e.state != "completed" and not e.p2p)

    def unanswered(self) -> tuple[RecorderEntry, ...]:
        """The oldest sends and receives that were issued together and are not finished."""
        found = [e for e in self.entries if not e.retired and e.state != "completed" and e.p2p]
        return tuple(e for e in found if (e.group, e.seq) == (found[0].group, found[0].seq))

    def last(self, group: str) -> RecorderEntry | None:
        """The newest collective of a group: the rank's frontier in it."""
        return next((e for e in reversed(self.entries) if e.group == group and not e.p2p), None)

    def at(self, group: str, seq: int) -> RecorderEntry | None:
        return next((e for e in reversed(self.entries) if e.group == group and e.seq == seq and not e.p2p), None)


@dataclass(frozen=True, slots=True)
class ReportedWait:
    """A wait that a rank's own log reports."""

    #: canonical name, "init_process_group" for a rendezvous
    op: str
    kind: Kind
    #: ranks that the log says it waits for; empty if it does not state them
    missing: tuple[Rank, ...] = ()
    #: sequence number in a group whose members the log does not list
    seq: int | None = None
