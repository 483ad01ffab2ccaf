"""The wait-for graph: waiting threads, the ranks that they wait for, and which of them are proven to be deadlocked.

A rank is certainly stuck if each of its threads that ever communicated is inside a blocking wait and needs a rank that
has exited or is itself stuck. The largest set of ranks for which this holds is computed by repeatedly removing every
rank that could still be released; cycles, knots (where a receive accepts any source) and chains that end at an exited
rank remain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.doubts import Doubt
from ddpdoctor.diagnose.digest.open_operations import Positions
from ddpdoctor.diagnose.digest.waits import Wait, find_waits
from ddpdoctor.model.evidence import Evidence, RankEvidence, Source
from ddpdoctor.model.ranks import Rank, RankSet


@dataclass(frozen=True, slots=True)
class WaitGraph:
    """The waits of each rank, and the conclusions from them."""

    waits: Mapping[Rank, tuple[Wait, ...]]
    #: live ranks that certainly cannot continue
    stuck: RankSet
    #: why a waiting rank is not proven to be stuck
    doubts: Mapping[Rank, Doubt] = field(default_factory=dict)

    @property
    def waiting(self) -> RankSet:
        return RankSet.of(rank for rank, waits in self.waits.items() if waits)

    def all_waits(self) -> Iterable[Wait]:
        return (wait for rank in sorted(self.waits) for wait in self.waits[rank])

    def main_wait(self, rank: Rank) -> Wait | None:
        """The wait to show for a rank: the first, which is the main thread's if that waits."""
        return next(iter(self.waits.get(rank, ())), None)

    def targets(self, ranks: Iterable[Rank]) -> RankSet:
        """The ranks that these wait for directly."""
        return RankSet.of(target for rank in ranks for wait in self.waits.get(rank, ()) for target in wait.targets)


def build(evidence: Evidence) -> WaitGraph:
    """Find all waits and prove what can be proven; missing evidence gives a doubt, never an edge."""
    waits: dict[Rank, tuple[Wait, ...]] = {}
    doubts: dict[Rank, Doubt] = {}
    positions = Positions(evidence)
    for rank in evidence.ranks:
        if rank.exit is not None:
            continue
        waits[rank.rank] = _main_first(rank, find_waits(positions, rank))
        doubt = _doubt(evidence, rank, waits[rank.rank])
        if doubt:
            doubts[rank.rank] = doubt
    for waiting, own in waits.items():
        if waiting not in doubts and any(_meets_peer(wait, waits) for wait in own):
            doubts[waiting] = Doubt.MEETS_PEER
    exited = {rank.rank for rank in evidence.ranks if rank.exit is not None}
    candidates = {rank for rank, found in waits.items() if found and rank not in doubts}
    return WaitGraph(waits, _largest_stuck_set(waits, candidates, exited), doubts)


def _largest_stuck_set(waits: Mapping[Rank, tuple[Wait, ...]], candidates: set[Rank], exited: set[Rank]) -> RankSet:
    stuck = set(candidates)
    while True:
        immovable = stuck | exited
        free = {rank for rank in stuck if not all(_held(wait, immovable) for wait in waits[rank])}
        if not free:
            return RankSet.of(stuck)
        stuck -= free


def _held(wait: Wait, immovable: set[Rank]) -> bool:
    needed = not immovable.isdisjoint(wait.needs.members)
    return needed or (len(wait.any_of) > 0 and immovable.issuperset(wait.any_of.members))


def _doubt(evidence: Evidence, rank: RankEvidence, waits: tuple[Wait, ...]) -> Doubt | None:
    """Why the rank may still advance although it waits; None if there is no such reason."""
    if not waits:
        return Doubt.NO_WAIT
    if any(gap.rank == rank.rank and gap.source is not Source.CODE for gap in evidence.gaps):
        return Doubt.BLIND
    doubt = next((wait.doubt for wait in waits if wait.doubt), None)
    if doubt or rank.page is None:
        return doubt  # a wait without a page has one, unless what is known from outside suffices
    waiting = {wait.thread for wait in waits}
    communicating = {rank.page.pid, *rank.page.communicating_threads}
    free = any(_alive(rank, thread) for thread in communicating - waiting)
    return Doubt.FREE_THREAD if free else None


def _meets_peer(wait: Wait, waits: Mapping[Rank, tuple[Wait, ...]]) -> bool:
    """Whether the peer of a send or receive is in its part of it."""
    return any(wait.meets(other) for peer in wait.targets for other in waits.get(peer, ()))


def _alive(rank: RankEvidence, os_id: int) -> bool:
    """Whether the thread may be alive: one that the kernel no longer lists is gone; without that list it may live."""
    if rank.process is None or not rank.process.threads:
        return True
    return any(thread.os_id == os_id for thread in rank.process.threads)


def _main_first(rank: RankEvidence, waits: tuple[Wait, ...]) -> tuple[Wait, ...]:
    main = frames.main_thread(rank)
    first = main.os_id if main else rank.thread
    return tuple(sorted(waits, key=lambda wait: (wait.thread != first, wait.thread)))
