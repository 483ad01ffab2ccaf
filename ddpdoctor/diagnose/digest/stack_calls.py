"""The call that a thread without a page is in, read from torch's frames and the few locals of them that are kept."""

from __future__ import annotations

from collections.abc import Iterable

from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.doubts import Doubt
from ddpdoctor.model.collectives import Call, Kind
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Thread
from ddpdoctor.program import libraries

#: function of torch.distributed -> what it waits for, and the locals that name the peer: its rank, and in its group
_PAIRS = {
    "recv": (Kind.RECV, "src", "group_src"),
    "send": (Kind.SEND, "dst", "group_dst"),
}
#: what sends without waiting: a message may be on its way while its rank waits in something else
_STARTS = ("isend", "P2POp", "batch_isend_irecv")
#: names of threads that a backend starts (`comm`, at most 15 characters)
_GLOO, _NCCL = "gloo", "nccl"
#: cores that a process may use whose threads all wait
_IDLE_CORES = 0.02
#: seconds that two readings of a process's processor time may differ too much by: the kernel tells it in ticks
_TICK = 0.01


def pair_call(thread: Thread) -> Call | None:
    """The send or receive that the thread waits in; its peer is None where it is any rank, or not known."""
    if not frames.waits_in_torch(thread, backward=False):
        return None
    for index, frame in enumerate(thread.frames):
        kind, local, in_group = _PAIRS.get(frame.function.rpartition(".")[2], (None, "", ""))
        if kind is None or not frames.is_torch(frame.file):
            if not frames.is_internal(frame.file):
                return None
            continue
        site = frames.innermost_user_frame(thread.frames)
        peer, tag = _peer(thread, index, local, in_group), thread.local(index, "tag")
        return Call(
            kind=kind,
            op=frame.function.rpartition(".")[2],
            thread=thread.os_id,
            site=site,
            since=0.0,
            peer=peer,
            tag=tag.value if tag else None,
        )
    return None


def _peer(thread: Thread, frame: int, local: str, in_group: str) -> Rank | None:
    """The peer's rank. A number within a group is one only in the default group, which is None."""
    peer, number, group = (thread.local(frame, name) for name in (local, in_group, "group"))
    if peer is not None and peer.value is not None:
        return Rank(peer.value)
    if number is not None and number.value is not None and group is not None and group.value is None:
        return Rank(number.value)
    return None


def doubt_of_pair(evidence: Evidence, rank: RankEvidence, thread: Thread) -> Doubt | None:
    """Why a rank that stands in a send or receive may still move, where no page tells; None if it cannot.

    It cannot if the operation blocks its thread (gloo), no other thread of Python could send in its place, nothing
    that was sent without waiting can be on its way, and several samples show the same.
    """
    motion = rank.motion
    if motion is None:
        return Doubt.ONE_SAMPLE
    if motion.lines_moved is not Observed.NO:
        return Doubt.MOVED
    if motion.cpu_seconds - _TICK >= _IDLE_CORES * motion.seconds or motion.io_bytes:
        return Doubt.COMPUTES
    names = [state.name for state in rank.process.threads] if rank.process else []
    if not any(_GLOO in name for name in names) or any(_NCCL in name for name in names):
        return Doubt.NOT_GLOO
    if any(one is not thread and not _is_idle_helper(one) for one in (rank.stacks.threads if rank.stacks else ())):
        return Doubt.FREE_THREAD
    return Doubt.MAY_BE_SENT if _may_be_sent(evidence) else None


def _is_idle_helper(thread: Thread) -> bool:
    """Whether it is a thread of a library: none of its frames is the job's."""
    return all(libraries.origin(frame.file).kind not in _OWN for frame in thread.frames)


_OWN = (libraries.Kind.PROJECT, libraries.Kind.INSTALLED)


def _may_be_sent(evidence: Evidence) -> bool:
    """Whether the job's source was not read, or names what sends without waiting."""
    own = [source.text for path, source in evidence.code.items() if libraries.origin(path).kind in _OWN]
    read = set(evidence.code)
    return not own or not _all_read(evidence, read) or any(name in text for text in own for name in _STARTS)


def _all_read(evidence: Evidence, read: Iterable[str]) -> bool:
    """Whether every file of the job that a stack shows was read."""
    shown = {
        frame.file
        for rank in evidence.ranks
        for thread in (rank.stacks.threads if rank.stacks else ())
        for frame in thread.frames
        if libraries.origin(frame.file).kind in _OWN and not frame.file.startswith("<")
    }
    return shown <= set(read)
