"""The Flight Recorders of many ranks, with each distinct behaviour kept once.

A thousand ranks of one job issue the same operations and differ only in the names of their groups and in time stamps.
So an operation refers to its group by its *role* on the rank (the rank's first data-parallel group, its second
tensor-parallel group), and ranks with equal operations share one ring.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ddpdoctor.model.collectives import Recorder, RecorderEntry
from ddpdoctor.model.ranks import Group, Rank, RankSet
from ddpdoctor.model.stacks import Site


@dataclass(frozen=True, slots=True)
class Step:
    """One recorded operation, without what differs between ranks that behave alike."""

    #: index into the rank's own groups
    role: int
    #: counts the group's collectives; for a send or recv, its point-to-point operations
    seq: int
    #: canonical name without the backend prefix
    op: str
    backend: str
    sizes: tuple[tuple[int, ...], ...] = ()
    dtypes: tuple[str, ...] = ()
    #: where the user's code issued it, None if the dump has no frames
    site: Site | None = None
    finished: bool = False
    #: given up by the backend's watchdog: retired without having completed
    timed_out: bool = False
    p2p: bool = False
    #: index of the peer among the group's members, for a send or recv
    peer: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Ring:
    """A recorder's ring buffer, oldest operation first. Compared by identity: equal rings are one object."""

    steps: tuple[Step, ...]
    #: older operations were overwritten
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """One rank's recorder: a shared ring, and the groups that its roles refer to."""

    rank: Rank
    ring: Ring
    #: indexed by role; a group without members is one whose members the dump does not list (gloo)
    groups: tuple[Group, ...]
    #: nanoseconds since the epoch when the newest operation was issued, 0 if unknown
    newest_ns: int = 0
    version: str = ""


@dataclass(frozen=True, slots=True)
class RecorderSet:
    """All recorders of one job."""

    world_size: int
    members: Mapping[Rank, Member]
    #: names of groups whose members were inferred from the ranks that used them, because no dump lists them
    inferred: frozenset[str] = field(default=frozenset())

    def unseen(self) -> RankSet:
        """Ranks that left no dump."""
        return RankSet.of(rank for rank in range(self.world_size) if rank not in self.members)


def expand(member: Member) -> Recorder:
    """One rank's recorder in full."""
    entries = tuple(_entry(member, step) for step in member.ring.steps)
    return Recorder(member.version, entries, member.groups, member.ring.truncated, member.newest_ns)


def _entry(member: Member, step: Step) -> RecorderEntry:
    group = member.groups[step.role]
    known = step.peer is not None and step.peer < len(group.members)
    return RecorderEntry(
        seq=step.seq,
        op=step.op,
        backend=step.backend,
        group=group.name,
        input_sizes=step.sizes,
        input_dtypes=step.dtypes,
        created_ns=0,
        state="completed" if step.finished else "scheduled",
        retired=step.finished,
        site=step.site,
        p2p=step.p2p,
        peer=group.members[step.peer] if known and step.peer is not None else None,
        timed_out=step.timed_out,
    )
