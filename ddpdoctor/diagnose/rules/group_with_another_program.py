"""# DD265 group-with-another-program

## What
Ranks wait in a process group that has more members than this job has ranks: the rest of them belong to another program,
such as an inference server that takes new weights from the trainer. Not reproduced here: needs GPUs. The diagnosis is
tested on constructed evidence, and is `possible` at most.

## Why it hangs
The group needs every member. If the other program has not made the group, has ended, is busy with a request or has left
a transfer out, the trainer waits, and nothing in the trainer is wrong.

## Example
    group = init_process_group(..., world_size=1 + servers, rank=0, group_name="weight_sync")
    dist.broadcast(weights, src=0, group=group)          # no server is receiving

## Fix
Look at the other program: its log, and its stack (`ddpdoctor dump PID`). Make sure that it has entered the group, was
told to receive, and receives the same tensors in the same order.

## When it is wrong
A job that has lost ranks and goes on with fewer (elastic) may still use a group of the former size. If a rank of this
job has not arrived, this is not reported.

## References
https://github.com/verl-project/verl/issues/6967 https://github.com/huggingface/trl/issues/3608
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import GROUP_WITH_ANOTHER_PROGRAM
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.rank_state import wait_label
from ddpdoctor.diagnose.digest.waits import Wait
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.ranks import Group, RankSet


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    # of a job whose size is not known, any rank may be one that nobody saw
    if facts.outcome is not Outcome.HANG or not facts.evidence.size_known:
        return
    waits = [wait for rank in facts.waiting if (wait := facts.wait(rank))]
    for group in dict.fromkeys(wait.group for wait in waits if wait.group):
        outside = _outside(facts, group)
        inside = [wait for wait in waits if wait.group == group]
        members = RankSet.of(group.members) - outside
        if outside and members == RankSet.of(wait.rank for wait in inside) and _at_one(inside):
            yield _diagnosis(facts, group, inside, outside)


def _outside(facts: Facts, group: Group) -> RankSet:
    """Members whose numbers no rank of this job has."""
    return RankSet.of(member for member in group.members if member >= facts.evidence.world_size)


def _at_one(waits: list[Wait]) -> bool:
    """Whether this job's members are in the same operation, so that none of them is the cause."""
    return len({(wait.op, wait.seq) for wait in waits}) == 1 and not any(
        wait.needs or wait.mismatched for wait in waits
    )


def _diagnosis(facts: Facts, group: Group, inside: list[Wait], outside: RankSet) -> Diagnosis:
    here = RankSet.of(wait.rank for wait in inside)
    label = group.label(facts.evidence.world_size)
    return diagnosis(
        GROUP_WITH_ANOTHER_PROGRAM,
        facts.waiting,
        confidence=Confidence.POSSIBLE,
        summary=(
            f"{wording.ranks(here)} {wording.verb(here, 'waits', 'wait')} in {wait_label(inside[0])} of {label}, and "
            f"its {'member' if len(outside) == 1 else 'members'} {outside} {wording.verb(outside, 'is', 'are')} no "
            f"{'rank' if len(outside) == 1 else 'ranks'} of this job"
        ),
        why=(
            f"The group has {len(group.members)} members, and this job has {facts.evidence.world_size} ranks: the "
            "others belong to another program, of which nothing is seen here. Every member of this job has entered."
        ),
        fix=(
            "Look at the other program: whether it runs, has entered the group and receives the same tensors; "
            "`ddpdoctor dump PID` shows where it is."
        ),
        locations=facts.locations_of(here),
        evidence=tuple(f"rank {wait.rank}: {wait_label(wait)}" for wait in inside),
    )
