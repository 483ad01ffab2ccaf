"""# DD252 rank-finished-early

## What
A rank exited with status 0 while other ranks still wait for it.

## Why it hangs
A collective, or the creation of a group, needs every rank, and a rank that has exited will not take part. The launcher
does not treat an exit with status 0 as a failure, so nothing ends the other ranks.

## Example
    if not chunks:                           # more ranks than chunks
        return                               # the others go on to all_gather_object

## Fix
Let every rank run to the end: contribute an empty list or a zero-sized tensor instead of returning early.

## When it is wrong
The reason why the rank had nothing left to do may have its own diagnosis (DD201 uneven-inputs); if it can be
determined, it is listed before this one. A rank that left a loop by a decision of its own, and then came to the end of
its program, is DD206; one that returned because it had nothing to do (`if not rows: return`), or as its number says, is
not.

## References
https://github.com/pytorch/pytorch/issues/141069
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import RANK_FINISHED_EARLY
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.diagnose.divergence.early_returns import early_return, left_behind, left_loop, own_stop
from ddpdoctor.diagnose.divergence.group_names import misnamed
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Location
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Rank, RankSet


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    found = left_behind(facts)
    # a group of other ranks than its members know of may have ended here and left others there
    if found is not None and own_stop(facts) is None and misnamed(facts) is None:
        yield _diagnosis(facts, *found)


def _diagnosis(facts: Facts, culprits: RankSet, left: RankSet) -> Diagnosis:
    proven = any(rank in facts.graph.stuck for rank in left) or bool(facts.failures)
    another_cause = any(_may_have_left_a_loop(facts, rank) for rank in culprits)
    confidence = Confidence.CERTAIN if proven and not facts.splits and not another_cause else Confidence.LIKELY
    who = wording.ranks(culprits)
    return diagnosis(
        RANK_FINISHED_EARLY,
        left,
        confidence=confidence,
        blame=Confidence.LIKELY if len(culprits) >= len(left) else confidence,
        culprits=culprits,
        summary=_summary(facts, culprits, left),
        why=(
            f"{who.capitalize()} {_ended(facts, culprits)} without an error, so the launcher sees no failure; "
            f"{wording.ranks(left)} {wording.verb(left, 'needs', 'need')} it for a collective that it will never enter."
        ),
        fix=(
            "Let every rank reach the same collectives: contribute an empty list or a zero-sized tensor instead of "
            "returning early."
        ),
        locations=_locations(facts, culprits, left),
        evidence=tuple(_evidence(facts, culprits, left)),
    )


def _may_have_left_a_loop(facts: Facts, rank: Rank) -> bool:
    """The rank's last act was a training step, or is not known: it may have run out of data (DD201) or stopped early
    (DD206)."""
    if facts.rank(rank).page is None:
        return True
    history = facts.histories.get(rank)
    steps = [step.kind for step in history.steps] if history else []
    return steps[-1:] not in ([], [EventKind.CALL])


def _ended(facts: Facts, culprits: RankSet) -> str:
    return "returned" if any(facts.state(rank).returned for rank in culprits) else "exited"


def _summary(facts: Facts, culprits: RankSet, left: RankSet) -> str:
    returned = any(facts.state(rank).returned for rank in culprits)
    head = f"{wording.ranks(culprits)} finished {'its training function' if returned else 'with status 0'}"
    waits = RankSet.of(rank for rank in left if rank in facts.waiting)
    if waits:
        verb = wording.verb(waits, "waits", "wait")
        return f"{head} while {wording.ranks(waits)} {verb} for it in {wording.waiting(facts, waits)}"
    return f"{head} while {wording.ranks(left)} still needed it"


def _locations(facts: Facts, culprits: RankSet, left: RankSet) -> tuple[Location, ...]:
    ended = [(rank, facts.state(rank).site) for rank in culprits if facts.state(rank).activity is Activity.EXITED]
    last = tuple(facts.location([rank], site) for rank, site in ended if site)
    ways = ((rank, early_return(facts, rank) or left_loop(facts, rank, left)) for rank, _ in ended)
    returns = tuple(facts.location([rank], site) for rank, site in ways if site)
    if any(facts.state(rank).returned for rank in culprits):
        return (*returns, *last, *facts.locations_of(left))
    return (*returns, *facts.locations_of(left), *last)


def _evidence(facts: Facts, culprits: RankSet, left: RankSet) -> Iterator[str]:
    timing = facts.evidence.timing
    for rank in culprits:
        ended = facts.rank(rank).exit
        if ended and ended.time < timing.detected:
            yield f"rank {rank} exited with status 0, {wording.seconds(ended.time - timing.started)} after the start"
        elif ended:  # when it was looked for, it had ended, nobody knows since when
            yield f"rank {rank} exited with status 0"
        site = facts.state(rank).site
        if site:
            yield f"rank {rank}'s last recorded call is at {wording.place(site)}"
    for rank in left:
        state = facts.state(rank)
        if state.naps and state.site:
            yield f"rank {rank} sleeps at {wording.place(state.site)} until what it asks for has come"
    for wait in facts.graph.all_waits():
        if wait.rank in left and wait.targets:
            key = f" of the store's key {wait.key}" if wait.key else ""
            yield f"rank {wait.rank} waits in {wait.op}{key} for {wording.ranks(wait.targets)}"
