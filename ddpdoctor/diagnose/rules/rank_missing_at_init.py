"""# DD261 rank-missing-at-init

## What
Some ranks wait in `init_process_group` for a rank that has not called it.

## Why it hangs
The group is created when all ranks of the job have arrived. A rank that was never started, that failed earlier, or that
waits for something else before the call keeps the others there until the timeout (thirty minutes by default).

## Example
    lock.acquire()                           # one rank waits for a lock that another holds until the end
    dist.init_process_group("gloo")

## Fix
Check what the missing rank does before `init_process_group`. Start all ranks, and call it once on each of them.

## When it is wrong
A rank that is merely late looks the same; if it is busy, the report says `slow` (DD231) instead.

## References
https://github.com/ultralytics/yolov5/issues/4574 https://github.com/mosaicml/streaming/issues/307
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import RANK_MISSING_AT_INIT
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.ranks import RankSet


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    if facts.outcome is not Outcome.HANG:
        return
    inside = RankSet.of(
        rank for rank in facts.waiting if (wait := facts.wait(rank)) and wait.op == "init_process_group"
    )
    # of ranks that nobody saw nothing is known, unless those that wait say that these are missing
    known = facts.evidence.seen() | facts.graph.targets(inside)
    absent = RankSet.of(rank for rank in facts.states if rank in known) - facts.waiting
    missing = RankSet.of(rank for rank in absent if not _initialised(facts, rank))
    if inside and missing:
        yield _diagnosis(facts, inside, missing)


def _initialised(facts: Facts, rank: int) -> bool:
    """The rank has been inside init_process_group, which arms its page."""
    seen = next((r for r in facts.evidence.ranks if r.rank == rank), None)
    return seen is not None and seen.page is not None


def _diagnosis(facts: Facts, inside: RankSet, missing: RankSet) -> Diagnosis:
    unseen = RankSet.of(rank for rank in missing if facts.states[rank].activity is Activity.UNSEEN)
    # it may import or unpack something, and nothing would show it
    blind = any(seen.stacks is None for seen in facts.evidence.ranks if seen.rank in missing and seen.exit is None)
    who = wording.ranks(missing)
    site = next((s.site for rank in missing if (s := facts.states[rank]).site), None)
    if unseen:
        doing = f"{wording.ranks(unseen)} {wording.verb(unseen, 'has', 'have')} no visible process"
    elif site is None:
        doing = f"nothing shows where {wording.verb(missing, 'it is', 'they are')}"
    else:
        doing = f"{who} {wording.verb(missing, 'is', 'are')} at {wording.place(site)}"
    return diagnosis(
        RANK_MISSING_AT_INIT,
        inside,
        confidence=Confidence.POSSIBLE if blind else Confidence.LIKELY,
        culprits=missing,
        summary=(
            f"{wording.ranks(inside)} {wording.verb(inside, 'waits', 'wait')} in init_process_group for {who}: {doing}"
        ),
        why=(
            f"The process group is created when all {facts.evidence.world_size} ranks have arrived. {who.capitalize()} "
            f"{wording.verb(missing, 'has', 'have')} not called init_process_group yet."
        ),
        fix=(
            f"Check what {who} {wording.verb(missing, 'does', 'do')} before init_process_group, or why "
            f"{wording.verb(missing, 'it was', 'they were')} not started."
        ),
        locations=(*facts.locations_of(missing), *facts.locations_of(inside)),
        evidence=tuple(f"rank {rank}: {facts.states[rank].label}" for rank in missing),
    )
