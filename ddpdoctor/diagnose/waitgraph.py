"""The wait-for graph: can any rank still advance?

A rank is *stuck* when each of its communicating threads waits for a rank that is stuck or gone. The stuck set is
the greatest set with that property, found by taking ranks out until nothing changes; for waits that one of
several ranks could satisfy (`recv` from any source) all of them must be stuck, so a knot is needed where a cycle
would not do. If a living rank remains in it, the deadlock is proven, provided that everything was confirmed and
that nothing moved between two samples.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from ddpdoctor.diagnose.waits import Doubt, RankWaits, Wait, same_operation
from ddpdoctor.model.collectives import Kind
from ddpdoctor.model.diagnosis import Deadlock
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Rank, RankSet


class Presence(Enum):
    """Where a member stands, seen from somebody who waits in an operation of the group."""

    ENTERED = "entered"
    NOT_ENTERED = "not entered"
    #: it entered another operation as the same number of the group: this one can never complete
    OTHER_OPERATION = "other operation"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Edge:
    """A blocked thread and the ranks that it waits for; `any_of`: one of them would be enough."""

    wait: Wait
    targets: RankSet
    any_of: bool = False
    #: targets that stand in another operation under the same sequence number
    mismatched: RankSet = field(default_factory=RankSet)


@dataclass(frozen=True, slots=True)
class WaitGraph:
    waits: dict[Rank, RankWaits]
    edges: tuple[Edge, ...]
    #: ranks that can never advance
    stuck: RankSet
    #: ranks that have exited
    gone: RankSet
    deadlock: Deadlock
    #: what a proof lacks, "" where there is one
    missing: str

    def waiting(self) -> RankSet:
        return RankSet.of(edge.wait.rank for edge in self.edges if edge.targets)

    def blockers(self) -> RankSet:
        """Ranks that others wait for and that do not themselves wait: the sinks."""
        wanted: set[int] = set()
        for edge in self.edges:
            wanted.update(edge.targets)
        return RankSet.of(wanted) - self.waiting()

    def edges_of(self, rank: Rank) -> tuple[Edge, ...]:
        return tuple(e for e in self.edges if e.wait.rank == rank)

    def mismatched(self) -> bool:
        return any(edge.mismatched for edge in self.edges)


def build(evidence: Evidence, waits: dict[Rank, RankWaits]) -> WaitGraph:
    """Draw the edges, find the stuck set, and say whether it is a proof."""
    edges = tuple(_edge(evidence, wait) for rank in waits.values() for wait in rank.waits)
    gone = RankSet.of(r.rank for r in evidence.ranks if r.exit is not None)
    stuck = _stuck(waits, edges, gone)
    living = stuck - gone
    missing = _missing_for_proof(evidence, living) if living else ""
    return WaitGraph(waits, edges, stuck, gone, _verdict(living, missing), missing)


def _verdict(living: RankSet, missing: str) -> Deadlock:
    if not living:
        return Deadlock.NO
    return Deadlock.SUSPECTED if missing else Deadlock.PROVEN


def _stuck(waits: dict[Rank, RankWaits], edges: tuple[Edge, ...], gone: RankSet) -> RankSet:
    stuck = {rank for rank, state in waits.items() if state.blocked} | set(gone)
    changed = True
    while changed:
        free = {
            edge.wait.rank
            for edge in edges
            if edge.wait.rank in stuck and edge.wait.rank not in gone and not _holds(edge, stuck)
        }
        stuck -= free
        changed = bool(free)
    return RankSet.of(stuck)


def _holds(edge: Edge, stuck: set[Rank]) -> bool:
    """Will this wait never end, if `stuck` ranks never move?"""
    if edge.wait.doubt is not Doubt.NONE or not edge.targets:
        return False
    hits = [target in stuck for target in edge.targets]
    return all(hits) if edge.any_of else any(hits)


def _missing_for_proof(evidence: Evidence, living: RankSet) -> str:
    for rank in evidence.ranks:
        if rank.rank not in living:
            continue
        if rank.page is None:
            return f"no page of rank {rank.rank}"
        if rank.motion is None:
            return "a second sample"
        if rank.motion.page_moved is not False or rank.motion.lines_moved is not False:
            return f"rank {rank.rank} was not seen still in two samples"
        if rank.process is not None and rank.process.state in ("T", "t"):
            return f"rank {rank.rank} is stopped and could be continued"
    return ""


def _edge(evidence: Evidence, wait: Wait) -> Edge:
    if wait.kind is Kind.RECV or wait.kind is Kind.SEND:
        return _peer_edge(evidence, wait)
    members = [m for m in (wait.group.members if wait.group else ()) if m != wait.rank]
    root = wait.call.root if wait.call else None
    if wait.kind is Kind.FROM_ROOT:
        members = [root] if root is not None and root != wait.rank else []
    elif (wait.kind is Kind.TO_ROOT and root != wait.rank) or wait.kind in (Kind.STORE, Kind.WAIT, Kind.BACKWARD):
        members = []
    presences = {m: presence(evidence, wait, m) for m in members}
    absent = (Presence.NOT_ENTERED, Presence.OTHER_OPERATION, Presence.GONE)
    return Edge(
        wait=wait,
        targets=RankSet.of(m for m, p in presences.items() if p in absent),
        mismatched=RankSet.of(m for m, p in presences.items() if p is Presence.OTHER_OPERATION),
    )


def _peer_edge(evidence: Evidence, wait: Wait) -> Edge:
    peer = wait.call.peer if wait.call else None
    if peer is not None:
        return Edge(wait, RankSet.of([peer]))
    others = wait.group.members if wait.group else tuple(Rank(r) for r in range(evidence.world_size))
    return Edge(wait, RankSet.of(m for m in others if m != wait.rank), any_of=True)


def presence(evidence: Evidence, wait: Wait, member: Rank) -> Presence:
    """Has `member` entered the operation that `wait` is in?"""
    other = evidence.rank(member)
    if other is None or wait.group is None:
        return Presence.UNKNOWN
    if other.exit is not None:
        return _presence_of_gone(other)
    if wait.seq is not None:
        return _presence_by_recorder(other, wait, wait.group.name, wait.seq)
    if wait.ordinal is not None:
        return _presence_by_history(other, wait, wait.ordinal)
    return Presence.UNKNOWN


def _presence_of_gone(other: RankEvidence) -> Presence:
    """An operation that a rank was inside of when it ended may have been completed by it as far as anyone knows."""
    if other.page is not None and other.page.calls and other.exit is not None and other.exit.status != 0:
        return Presence.UNKNOWN
    return Presence.GONE


def _presence_by_recorder(other: RankEvidence, wait: Wait, group: str, seq: int) -> Presence:
    if other.recorder is None:
        return Presence.UNKNOWN
    last = other.recorder.last(group)
    if last is None or last.seq < seq:
        return Presence.NOT_ENTERED
    entry = other.recorder.at(group, seq)
    if entry is None:
        return Presence.UNKNOWN
    return Presence.ENTERED if same_operation(entry.op, _recorded_op(wait)) else Presence.OTHER_OPERATION


def _recorded_op(wait: Wait) -> str:
    """What the recorder calls the wait's operation: an object collective sends by its plain form."""
    return wait.op.replace("_object_list", "").replace("_object", "")


def _presence_by_history(other: RankEvidence, wait: Wait, ordinal: int) -> Presence:
    if other.page is None or other.page.events_lost:
        return Presence.UNKNOWN
    entered = sum(
        1
        for event in other.page.events
        if event.kind is EventKind.CALL
        and event.call is not None
        and event.call.op == wait.op
        and event.call.group == wait.group
    )
    return Presence.ENTERED if entered >= ordinal else Presence.NOT_ENTERED
