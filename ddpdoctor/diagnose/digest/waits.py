"""The edges of the wait-for graph: which threads are inside a blocking wait, and for which ranks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ddpdoctor.diagnose.digest import device_waits, frames, operations, stack_calls
from ddpdoctor.diagnose.digest.doubts import Doubt
from ddpdoctor.diagnose.digest.open_operations import (
    Positions,
    calls_of,
    entry_of,
    needed,
    open_entries,
)
from ddpdoctor.model.collectives import Call, Kind, RecorderEntry
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Motion, ProcessState
from ddpdoctor.model.ranks import Group, Rank, RankSet
from ddpdoctor.model.stacks import Site, StackSource, Thread

_NOBODY = RankSet()
#: point-to-point operations whose handle a rank can wait for
_PAIRS = {"irecv": Kind.RECV, "isend": Kind.SEND}
#: Cores that a process with a sleeping main thread may use (heartbeat, sampling) and still count as blocked.
IDLE_CORES = 0.1


@dataclass(frozen=True, slots=True)
class Wait:
    """One thread inside a blocking wait."""

    rank: Rank
    thread: int
    op: str
    kind: Kind
    site: Site | None
    since: float | None
    group: Group | None = None
    #: the recorder's sequence number in the group, None where there is none
    seq: int | None = None
    peer: Rank | None = None
    #: of a send or receive, None where it is not known
    tag: int | None = None
    root: Rank | None = None
    #: waits for all of these
    needs: RankSet = _NOBODY
    #: waits for at least one of these; empty if `needs` is complete
    any_of: RankSet = _NOBODY
    #: members with another operation at the same position of the group
    mismatched: RankSet = _NOBODY
    #: the store key that it waits for, "" for other waits
    key: str = ""
    #: why this wait proves nothing, None if it can be part of a proof
    doubt: Doubt | None = None

    @property
    def targets(self) -> RankSet:
        return self.needs | self.any_of

    def meets(self, other: Wait) -> bool:
        """Whether these are a send and a receive of one message, as far as their tags are known."""
        kinds = {self.kind, other.kind} == {Kind.SEND, Kind.RECV}
        return kinds and self.is_between(other) and (None in (self.tag, other.tag) or self.tag == other.tag)

    def is_between(self, other: Wait) -> bool:
        """Whether each of the two may be for the other's rank."""
        return self.peer in (other.rank, None) and other.peer in (self.rank, None)


def find_waits(positions: Positions, rank: RankEvidence) -> tuple[Wait, ...]:
    """The blocking waits of one live rank, at most one per thread."""
    waits = [_wait_in_call(positions, rank, call) for call in _blocking_calls(rank)]
    seen = {wait.thread for wait in waits}
    main = frames.main_thread(rank)
    if main and main.os_id not in seen:
        waits.extend(_wait_in_stack(positions, rank, main))
    if not waits and rank.page is not None:
        waits.extend(_waits_of_device(positions, rank, main))
    if not waits and main and device_waits.destroys_communicators(rank):
        waits.append(_wait_in_destruction(positions.evidence, rank, main))
    return tuple(waits or _waits_in_log(rank) or _waits_in_recorder(positions, rank, main))


def _waits_of_device(positions: Positions, rank: RankEvidence, main: Thread | None) -> Iterable[Wait]:
    """The wait of a rank whose process is blocked on a result that its GPU has not finished."""
    site = frames.innermost_user_frame(main.frames) if main else None
    if messages := device_waits.unanswered(rank):
        yield _wait_for_message(rank, site, messages)
    elif entry := device_waits.unfinished(rank):
        yield _wait_of_device(positions, rank, site, entry)


def _wait_for_message(rank: RankEvidence, site: Site | None, messages: tuple[RecorderEntry, ...]) -> Wait:
    """Of several messages that were issued together it is not known which one is late."""
    first = messages[0]
    kind = Kind.RECV if first.op == "recv" else Kind.SEND
    peers = RankSet.of(message.peer for message in messages if message.peer is not None)
    one = len(peers) == 1 and all(message.peer is not None for message in messages)
    return Wait(
        rank.rank,
        rank.thread,
        first.op,
        kind,
        site,
        None,
        peer=first.peer if one else None,
        needs=peers if one else _NOBODY,
        any_of=_NOBODY if one else peers,
        doubt=Doubt.DEVICE_QUEUE,
    )


def _wait_in_destruction(evidence: Evidence, rank: RankEvidence, main: Thread) -> Wait:
    """The wait of a rank that destroys NCCL's communicators for the ranks that do not."""
    others = [
        seen.rank
        for seen in evidence.ranks
        if seen.rank != rank.rank and seen.exit is None and not device_waits.destroys_communicators(seen)
    ]
    site = frames.innermost_user_frame(main.frames)
    return Wait(
        rank.rank,
        main.os_id,
        "destroy_process_group",
        Kind.ALL,
        site,
        None,
        needs=RankSet.of(others),
        doubt=Doubt.NOT_GLOO,
    )


def _wait_of_device(positions: Positions, rank: RankEvidence, site: Site | None, entry: RecorderEntry) -> Wait:
    """The wait for a collective."""
    wait = _entry_wait(positions, rank, _Blocked(rank.thread, site, None, Doubt.DEVICE_QUEUE), entry)
    if wait.group is None or wait.kind is not Kind.ALL:
        return wait
    return replace(wait, needs=wait.needs | device_waits.held_elsewhere(positions.evidence, wait.group, entry))


def _waits_in_recorder(positions: Positions, rank: RankEvidence, main: Thread | None) -> tuple[Wait, ...]:
    """The wait of a rank without a page in its oldest unfinished operation: only a recorder dump is left of it, or its
    GPU is in that operation wherever its process stands."""
    if rank.page is not None or rank.raised is not None or rank.recorder is None or _moves_lines(rank):
        return ()
    entry = next((e for e in rank.recorder.entries if not e.retired and e.state != "completed"), None)
    if entry is None or not (rank.stacks is None or device_waits.is_on_device(entry)):
        return ()
    doubt = Doubt.RECORDER_ONLY
    site = (frames.innermost_user_frame(main.frames) if main else None) or entry.site
    if not entry.p2p:
        return (_entry_wait(positions, rank, _Blocked(rank.thread, site, None, doubt), entry),)
    kind = Kind.RECV if entry.op == "recv" else Kind.SEND
    needs = RankSet.of([] if entry.peer is None else [entry.peer])
    return (Wait(rank.rank, rank.thread, entry.op, kind, site, None, peer=entry.peer, needs=needs, doubt=doubt),)


def _moves_lines(rank: RankEvidence) -> bool:
    return rank.motion is not None and rank.motion.lines_moved is Observed.YES


def _waits_in_log(rank: RankEvidence) -> tuple[Wait, ...]:
    """Waits that only the rank's own log reports."""
    if rank.page is not None or rank.raised is not None:
        return ()
    return tuple(
        Wait(
            rank.rank,
            rank.worker.pid,
            said.op,
            said.kind,
            None,
            None,
            seq=said.seq,
            needs=RankSet.of(said.missing),
            doubt=Doubt.LOG_ONLY,
        )
        for said in rank.reported
    )


def _wait_in_stack(positions: Positions, rank: RankEvidence, thread: Thread) -> Iterable[Wait]:
    """A wait that no page records: torch's C++ issued the operation, or the rank has no page."""
    site = frames.innermost_user_frame(thread.frames)
    entries = open_entries(rank)
    if frames.waits_implicitly(thread) and entries:
        doubt = _doubt_of_thread(rank, thread.os_id, backward=True)
        yield _entry_wait(positions, rank, _Blocked(thread.os_id, site, None, doubt), entries[0])
    elif rank.page is None and not _moves(rank) and (call := stack_calls.pair_call(thread)) and call.peer is not None:
        doubt = _doubt_of_state(rank.process, thread.os_id) or stack_calls.doubt_of_pair(
            positions.evidence, rank, thread
        )
        yield replace(_wait(rank, call, doubt, needs=RankSet.of([call.peer])), since=None)
    elif rank.page is None and frames.waits_in_torch(thread, backward=False) and not _moves(rank):
        inner = frames.engine_thread(rank) if frames.waits_implicitly(thread) else None
        if inner is not None:  # with CUDA, hooks of backward run in a thread of their own: the rank is blocked there
            site = frames.innermost_user_frame(inner.frames)
        calling = inner is not None and frames.waits_in_torch(inner, backward=False)
        op = frames.torch_call(inner if inner is not None and calling else thread)
        told = next((said for said in rank.reported if said.op == op and said.missing), None)
        needs = RankSet.of(told.missing) if told else _NOBODY
        yield Wait(rank.rank, thread.os_id, op, Kind.ALL, site, None, needs=needs, doubt=Doubt.NO_PAGE)


@dataclass(frozen=True, slots=True)
class _Blocked:
    """A thread that seems to be blocked."""

    thread: int
    site: Site | None
    since: float | None
    #: why it may still move
    doubt: Doubt | None


def uses_processor(process: ProcessState | None, motion: Motion) -> bool:
    """Whether the process computed between two samples. A runnable one did, however little of a core it got."""
    ready = process is not None and process.state == "R" and motion.cpu_seconds > 0
    return ready or motion.cpu_share >= IDLE_CORES


def _moves(rank: RankEvidence) -> bool:
    motion = rank.motion
    return motion is not None and (motion.cpu_share >= IDLE_CORES or motion.lines_moved is Observed.YES)


def _blocking_calls(rank: RankEvidence) -> Iterable[Call]:
    """The innermost blocking call in flight of each thread, without those that the stack contradicts."""
    innermost: dict[int, Call] = {}
    for call in rank.page.calls if rank.page else ():
        if call.asynchronous and call.kind is not Kind.WAIT:
            continue
        thread = frames.thread_of(rank, call.thread)
        if thread is not None and not frames.waits_in_call(thread, call):
            continue
        if call.kind is Kind.BACKWARD and not open_entries(rank):
            continue
        if call.thread not in innermost or call.since >= innermost[call.thread].since:
            innermost[call.thread] = call
    return innermost.values()


def _wait_in_call(positions: Positions, rank: RankEvidence, call: Call) -> Wait:
    doubt = _doubt_of_thread(rank, call.thread, backward=call.kind is Kind.BACKWARD)
    blocked = _Blocked(call.thread, call.site, call.since, doubt)
    if call.kind is Kind.BACKWARD:
        return _entry_wait(positions, rank, blocked, open_entries(rank)[0])
    if call.kind is Kind.WAIT and call.op in _PAIRS:
        call = replace(call, kind=_PAIRS[call.op], asynchronous=False)
    if call.kind in (Kind.RECV, Kind.SEND):
        return _peer_wait(positions.evidence, rank, call, doubt)
    if call.kind is Kind.STORE:
        doubt = doubt or Doubt.UNKNOWN_SETTER
        others = RankSet.of(range(positions.evidence.world_size)) - RankSet.of([rank.rank])
        place = rank.rank, call.thread, call.op, call.kind, call.site, call.since
        return Wait(*place, any_of=others, key=call.detail, doubt=doubt)
    if operations.family(call.op) in operations.UNRECORDED:
        return _counted_wait(positions, rank, call, doubt)
    entry = entry_of(rank, call)
    if entry is None:
        missing = Doubt.NO_RECORDER if rank.recorder is None else Doubt.NO_ENTRY
        return _wait(rank, call, doubt or missing)
    return _entry_wait(positions, rank, blocked, entry, call)


def _entry_wait(
    positions: Positions, rank: RankEvidence, blocked: _Blocked, entry: RecorderEntry, call: Call | None = None
) -> Wait:
    """A wait in an operation that the rank's recorder holds."""
    thread, site, since, doubt = blocked.thread, blocked.site, blocked.since, blocked.doubt
    group = (call.group if call else None) or positions.group(rank, entry.group)
    kind = operations.entry_kind(entry)
    root = call.root if call and group and call.root in group.members else None
    if group is None:
        return Wait(rank.rank, thread, entry.op, kind, site, since, seq=entry.seq, doubt=doubt or Doubt.UNKNOWN_GROUP)
    position = positions.of(group, entry)
    missing = _without(position.missing, rank.rank)
    needs = needed(kind, rank.rank, root, missing)
    busy = any(member != rank.rank for member in position.inside.members[:2])
    any_of = _NOBODY if needs or busy or kind is Kind.ALL else missing
    if _not_gloo(rank, entry):
        doubt = doubt or Doubt.NOT_GLOO
    if position.unknown:
        doubt = doubt or Doubt.NO_MEMBERS_RECORDER
    return Wait(
        rank.rank,
        thread,
        call.op if call and call.kind is not Kind.WAIT else entry.op,
        kind,
        site,
        since,
        group,
        entry.seq,
        root=root,
        needs=needs,
        any_of=any_of,
        mismatched=_without(position.differing, rank.rank),
        doubt=doubt,
    )


def _without(ranks: RankSet, rank: Rank) -> RankSet:
    return ranks - RankSet((rank,)) if rank in ranks else ranks


def _not_gloo(rank: RankEvidence, entry: RecorderEntry | None = None) -> bool:
    """Whether the rank's waits prove nothing: with NCCL a process may continue while operations are unfinished."""
    if entry is not None and entry.backend:
        return "nccl" in entry.backend
    return rank.page is not None and "gloo" not in rank.page.backend


def _counted_wait(positions: Positions, rank: RankEvidence, call: Call, doubt: Doubt | None) -> Wait:
    """The wait of an operation that no recorder holds: the n-th call of that name pairs with the others' n-th."""
    position = positions.counted(call, calls_of(rank, call))
    if position.unknown:
        doubt = doubt or Doubt.SHORT_HISTORY
    if _not_gloo(rank):
        doubt = doubt or Doubt.NOT_GLOO
    return _wait(rank, call, doubt, needs=_without(position.missing, rank.rank))


def _peer_wait(evidence: Evidence, rank: RankEvidence, call: Call, doubt: Doubt | None) -> Wait:
    if _not_gloo(rank):
        doubt = doubt or Doubt.NOT_GLOO
    if call.peer is not None:
        return _wait(rank, call, doubt, needs=RankSet.of([call.peer]))
    members = call.group.members if call.group else tuple(Rank(r) for r in range(evidence.world_size))
    return _wait(rank, call, doubt, any_of=RankSet.of(members) - RankSet.of([rank.rank]))


def _wait(
    rank: RankEvidence, call: Call, doubt: Doubt | None, *, needs: RankSet = _NOBODY, any_of: RankSet = _NOBODY
) -> Wait:
    return Wait(
        rank.rank,
        call.thread,
        call.op,
        call.kind,
        call.site,
        call.since,
        call.group,
        peer=call.peer,
        tag=call.tag,
        root=call.root,
        needs=needs,
        any_of=any_of,
        doubt=doubt,
    )


def _doubt_of_thread(rank: RankEvidence, os_id: int, *, backward: bool) -> Doubt | None:
    """Why a thread that seems blocked may still move; None if there is no such reason."""
    if rank.page is None:
        return Doubt.NO_PAGE
    thread = frames.thread_of(rank, os_id)
    if thread is None:
        return Doubt.NO_STACK
    if not frames.waits_in_torch(thread, backward=False) and not backward:
        return Doubt.ANOTHER_STACK
    return (
        _doubt_of_age(rank, thread)
        or _doubt_of_motion(rank)
        or _doubt_of_state(rank.process, os_id)
        or _doubt_of_load(rank, backward=backward)
    )


def _doubt_of_age(rank: RankEvidence, thread: Thread) -> Doubt | None:
    """A stack that the process took itself, earlier, holds only for a thread that has not run since
    (collect/noted_stacks.py)."""
    own = rank.stacks is not None and rank.stacks.source is StackSource.PROBE
    return Doubt.RAN_SINCE if own and thread.rested is not Observed.YES else None


def _doubt_of_motion(rank: RankEvidence) -> Doubt | None:
    """Two samples must show that neither its page nor its lines moved."""
    if rank.motion is None:
        return Doubt.ONE_SAMPLE
    moved = rank.motion.page_moved is not Observed.NO or rank.motion.lines_moved is Observed.YES
    return Doubt.MOVED if moved else None


def _doubt_of_state(process: ProcessState | None, os_id: int) -> Doubt | None:
    """The kernel must say that the thread sleeps, in a process that nobody stopped."""
    kernel = next((t for t in process.threads if t.os_id == os_id), None) if process else None
    if process is not None and process.state == "T":
        return Doubt.STOPPED
    if kernel is None:
        return Doubt.THREAD_UNKNOWN
    return Doubt.THREAD_AWAKE if kernel.state != "S" else None


def _doubt_of_load(rank: RankEvidence, *, backward: bool) -> Doubt | None:
    """A backward's threads are torch's own: the whole process must be idle."""
    return Doubt.COMPUTES if backward and rank.motion and rank.motion.cpu_share >= IDLE_CORES else None
