"""What every thread of every rank is blocked in: the nodes of the wait-for graph.

A thread counts as blocked only where it is *seen inside* a blocking call: the page names a call in flight (or
the recorder an operation that is not finished) and the stack, where there is one, ends in torch's communication
code. An asynchronous operation that nobody waits for blocks nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from ddpdoctor.diagnose.places import in_blocking_call, innermost_user
from ddpdoctor.merge.frontiers import known_groups
from ddpdoctor.model.collectives import Call, Kind, RecorderEntry
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Group, Rank
from ddpdoctor.model.stacks import Site, Thread

#: Newer names of the same operation (torch 2.13 renamed the single-tensor forms).
_ALIASES = {
    "all_gather_into_tensor": "all_gather",
    "all_gather_single": "all_gather",
    "_all_gather_base": "all_gather",
    "all_gather_coalesced": "all_gather",
    "reduce_scatter_tensor": "reduce_scatter",
    "reduce_scatter_single": "reduce_scatter",
    "_reduce_scatter_base": "reduce_scatter",
    "all_reduce_coalesced": "all_reduce",
    "all_to_all_single": "all_to_all",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all",
    "allreduce": "all_reduce",
    "allgather": "all_gather",
}


def canonical(op: str) -> str:
    """The operation's family, whatever torch's version calls it."""
    plain = op.lstrip("_")
    return _ALIASES.get(op, _ALIASES.get(plain, plain))


def same_operation(left: str, right: str) -> bool:
    """Could two names be one operation? gloo runs reduce_scatter as all_reduce and records it so."""
    a, b = canonical(left), canonical(right)
    return a == b or {a, b} == {"reduce_scatter", "all_reduce"}


class Doubt(Enum):
    """Why a wait is not good enough for a proof."""

    NONE = ""
    NO_STACK = "no stack confirms it"
    STACK_ELSEWHERE = "the stack stands elsewhere"
    NO_SEQUENCE = "its place in the group's order is not known"


@dataclass(frozen=True, slots=True)
class Wait:
    """One blocked thread: in which operation of which group, as the how manieth, called from where."""

    rank: Rank
    thread: int
    kind: Kind
    op: str
    group: Group | None
    #: sequence number in the group: the recorder's, else None
    seq: int | None
    #: the how manieth call of this op on this group the page has seen, for operations outside the recorder
    ordinal: int | None
    site: Site | None
    since: float | None
    call: Call | None
    doubt: Doubt = Doubt.NONE

    def label(self) -> str:
        """ "all_reduce seq 9", "barrier", "recv from rank 2", "store wait"."""
        if self.kind is Kind.RECV:
            source = "any rank" if self.call is None or self.call.peer is None else f"rank {self.call.peer}"
            return f"{self.op} from {source}"
        if self.kind is Kind.SEND and self.call is not None:
            return f"{self.op} to rank {self.call.peer}"
        return f"{self.op} seq {self.seq}" if self.seq is not None else self.op


@dataclass(frozen=True, slots=True)
class RankWaits:
    """A rank's communicating threads: those that are blocked, and whether another one might still run."""

    rank: Rank
    waits: tuple[Wait, ...]
    #: threads that have issued collectives and are not seen blocked
    free_threads: tuple[int, ...]

    @property
    def blocked(self) -> bool:
        return bool(self.waits) and not self.free_threads


def find_waits(evidence: Evidence) -> dict[Rank, RankWaits]:
    """The blocked threads of every rank that is still alive."""
    groups = known_groups(evidence)
    return {r.rank: _of_rank(r, groups, evidence.world_size) for r in evidence.ranks if r.exit is None}


def _of_rank(rank: RankEvidence, groups: tuple[Group, ...], world_size: int) -> RankWaits:
    if rank.page is not None:
        waits = tuple(_from_page(rank))
        communicating = set(rank.page.communicating_threads) or {rank.page.pid}
    else:
        waits = tuple(_from_recorder(rank, groups, world_size))
        communicating = {w.thread for w in waits}
    if not waits and rank.recorder is not None:
        waits = tuple(_from_recorder(rank, groups, world_size))
    blocked = {w.thread for w in waits}
    return RankWaits(rank.rank, waits, tuple(sorted(_alive(rank, communicating) - blocked)))


def _alive(rank: RankEvidence, threads: set[int]) -> set[int]:
    """Leave out threads that have ended since they communicated; without a thread list nobody is left out."""
    if rank.process is None or not rank.process.threads:
        return threads
    return threads & {t.os_id for t in rank.process.threads}


def _from_page(rank: RankEvidence) -> Iterator[Wait]:
    assert rank.page is not None
    innermost: dict[int, Call] = {}
    for call in rank.page.calls:
        if not call.asynchronous:
            innermost[call.thread] = call
    for thread, call in innermost.items():
        stack = _stack_of(rank, thread)
        entry = _entry_of(rank, call)
        if call.kind is Kind.BACKWARD and entry is None:
            continue  # autograd at work: no operation of the reducer is outstanding
        kind, op, group = call.kind, call.op, call.group
        if entry is not None and call.kind in (Kind.BACKWARD, Kind.WAIT):
            kind, op, group = Kind.ALL, entry.op, _group_named(rank, entry.group)
        ordinal = _ordinal(rank, call) if entry is None else None
        yield Wait(
            rank=rank.rank,
            thread=thread,
            kind=kind,
            op=op,
            group=group,
            seq=entry.seq if entry else None,
            ordinal=ordinal,
            site=call.site or (innermost_user(stack.frames) if stack else None),
            since=call.since,
            call=call,
            doubt=_doubt(stack, entry.seq if entry else ordinal, kind),
        )


def _from_recorder(rank: RankEvidence, groups: tuple[Group, ...], world_size: int) -> Iterator[Wait]:
    """Without a call on the page: the recorder's outstanding operation, if the main thread stands in torch.

    So DDP's forward (buffers, bucket rebuild) is seen, whose collectives C++ issues without a Python call.
    """
    if rank.recorder is None:
        return
    main = rank.stacks.main() if rank.stacks else None
    outstanding = rank.recorder.outstanding()
    if main is None or not outstanding or not in_blocking_call(main.frames):
        return
    entry = outstanding[-1]
    group = _group_named(rank, entry.group) or next((g for g in groups if g.name == entry.group), None)
    if group is None and entry.group == "0":
        group = Group("0", tuple(Rank(r) for r in range(world_size)), "default_pg")
    kind = {"broadcast": Kind.FROM_ROOT, "scatter": Kind.FROM_ROOT, "reduce": Kind.TO_ROOT, "gather": Kind.TO_ROOT}
    yield Wait(
        rank=rank.rank,
        thread=main.os_id,
        kind=kind.get(canonical(entry.op), Kind.ALL),
        op=entry.op,
        group=group,
        seq=entry.seq,
        ordinal=None,
        site=innermost_user(main.frames),
        since=None,
        call=None,
    )


def _stack_of(rank: RankEvidence, thread: int) -> Thread | None:
    if rank.stacks is None:
        return None
    exact = next((t for t in rank.stacks.threads if t.os_id == thread), None)
    return exact or (rank.stacks.main() if rank.page and thread == rank.page.pid else None)


def _entry_of(rank: RankEvidence, call: Call) -> RecorderEntry | None:
    """The recorder's outstanding entry that a call in flight is waiting for, newest first."""
    if rank.recorder is None:
        return None
    outstanding = rank.recorder.outstanding()[::-1]
    if call.kind is Kind.BACKWARD:
        return outstanding[0] if outstanding else None
    for entry in outstanding:
        if call.group is not None and entry.group != call.group.name:
            continue
        if call.kind is Kind.WAIT or same_operation(entry.op, call.op) or _part_of(entry.op, call.op):
            return entry
    return None


def _part_of(entry_op: str, call_op: str) -> bool:
    """Object collectives send tensors by the plain operation: all_gather_object by all_gather."""
    return "object" in call_op and canonical(entry_op) in (canonical(call_op), "all_gather", "broadcast", "gather")


def _group_named(rank: RankEvidence, name: str) -> Group | None:
    return next((g for g in rank.page.groups if g.name == name), None) if rank.page else None


def _ordinal(rank: RankEvidence, call: Call) -> int | None:
    """Which call of its op and group this is on its rank, counted in the page's history; None if some is lost."""
    if rank.page is None or rank.page.events_lost:
        return None
    return sum(
        1
        for event in rank.page.events
        if event.kind is EventKind.CALL
        and event.call is not None
        and event.call.op == call.op
        and event.call.group == call.group
    )


def _doubt(stack: Thread | None, place: int | None, kind: Kind) -> Doubt:
    if stack is None:
        return Doubt.NO_STACK
    if not in_blocking_call(stack.frames):
        return Doubt.STACK_ELSEWHERE
    if place is None and kind in (Kind.ALL, Kind.FROM_ROOT, Kind.TO_ROOT):
        return Doubt.NO_SEQUENCE
    return Doubt.NONE
