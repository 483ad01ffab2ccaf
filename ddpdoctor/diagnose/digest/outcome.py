"""The outcome of a look: healthy, slow, hang or crash, and whether a deadlock is proven."""

from __future__ import annotations

from collections.abc import Mapping

from ddpdoctor.diagnose.digest.failure import Failure, FailureKind, kind_of, sent_before_end
from ddpdoctor.diagnose.digest.rank_state import Activity, RankState
from ddpdoctor.diagnose.digest.wait_graph import WaitGraph
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Outcome
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.ranks import Rank, RankSet


def judge(
    evidence: Evidence,
    graph: WaitGraph,
    states: Mapping[Rank, RankState],
    blockers: RankSet,
    failures: tuple[Failure, ...],
) -> Outcome:
    """crash: a rank failed; hang: ranks wait and no rank they wait for moves; slow: a rank they wait for is working."""
    waiting = [rank for rank, state in states.items() if state.activity is Activity.WAITING]
    if failures or (evidence.end and evidence.end.status != 0):
        return Outcome.CRASH
    if graph.stuck or any(state.activity is Activity.STOPPED for state in states.values()):
        return Outcome.HANG
    if not waiting:
        still = len(blockers) > 0 and not any(s.activity is Activity.WORKING for s in states.values())
        return Outcome.HANG if still else Outcome.HEALTHY
    if all(_moved(evidence, rank) for rank in waiting):
        return Outcome.HEALTHY
    working = [rank for rank in blockers if states[rank].activity is Activity.WORKING]
    return Outcome.SLOW if working and len(working) == len(blockers) else Outcome.HANG


def _moved(evidence: Evidence, rank: Rank) -> bool:
    """Whether the rank made progress between the samples, so that it is in a wait only by chance."""
    seen = evidence.rank(rank)
    return seen is not None and seen.motion is not None and seen.motion.page_moved is Observed.YES


def deadlock(evidence: Evidence, outcome: Outcome, graph: WaitGraph) -> Deadlock:
    """Ranks that nobody saw may be at work: then nothing is suspected."""
    if outcome is not Outcome.HANG:
        return Deadlock.NO
    if graph.stuck:
        return Deadlock.PROVEN
    return Deadlock.NO if evidence.unseen() else Deadlock.SUSPECTED


def cap_of_histories(
    evidence: Evidence,
    outcome: Outcome,
    graph: WaitGraph,
    failures: tuple[Failure, ...],
    sides: tuple[RankSet, RankSet],
) -> Confidence | None:
    """The highest confidence for a cause read from histories; None if the divergence does not hold the job up.

    Histories of healthy jobs may diverge too (torch's Join, work for one rank only), so `certain` needs a proof that
    these very ranks are stuck, or gloo's own abort because operations do not match. A launcher that ends although no
    rank has failed proves neither, and one that was told to end says nothing of the ranks.
    """
    if outcome is Outcome.CRASH and not failures:
        told = evidence.end is not None and sent_before_end(evidence.end) is not None
        return Confidence.POSSIBLE if told else Confidence.LIKELY
    if outcome is Outcome.CRASH:
        own = [failure for failure in failures if not failure.victim]
        fits = not own or own[0].amid_mismatch
        return Confidence.CERTAIN if fits else None
    if outcome is not Outcome.HANG:
        return None
    live = [rank for side in sides for rank in side if rank in graph.waits]
    held = len(live) > 0 and all(_is_held(graph, side) for side in sides)
    return Confidence.CERTAIN if held else Confidence.LIKELY


#: The highest confidence for a rank's death as the cause: some kinds of failure have a diagnosis of their own, and some
#: only show that operations met that do not match, or that another rank had gone before.
_CAPS_OF_DEATHS = {
    FailureKind.SIZES_DIFFER: Confidence.POSSIBLE,
    FailureKind.LOST_PEER: Confidence.POSSIBLE,
    FailureKind.MODEL_DIFFERS: Confidence.LIKELY,
    FailureKind.LOST_DATA_WORKER: Confidence.LIKELY,
    FailureKind.RAISED_BY_JOIN: Confidence.POSSIBLE,
}


def cap_of_death(first: Failure, *, parted: bool) -> Confidence:
    """The highest confidence that the first failure is the cause.

    `parted`: the ranks' histories differ or were not observed, so gloo's abort may only be a consequence of that.
    """
    kind = kind_of(first)
    if kind is FailureKind.ABORTED and parted:
        return Confidence.POSSIBLE
    return _CAPS_OF_DEATHS.get(kind, Confidence.CERTAIN)


def _is_held(graph: WaitGraph, side: RankSet) -> bool:
    """Whether one rank of the side is certainly stuck, and the others, which did the same, wait too."""
    live = [rank for rank in side if rank in graph.waits]
    return not live or (any(rank in graph.stuck for rank in live) and all(graph.waits[rank] for rank in live))


def weaker(left: Confidence, right: Confidence) -> Confidence:
    order = (Confidence.POSSIBLE, Confidence.LIKELY, Confidence.CERTAIN)
    return min(left, right, key=order.index)
