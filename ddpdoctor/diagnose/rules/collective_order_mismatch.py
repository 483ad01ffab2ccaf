"""# DD213 collective-order-mismatch

## What
The ranks issue the same collectives in a different order, or different operations (or another `src`) at the same line.

## Why it hangs
The collectives of a group are paired by order alone. One rank's all_gather is paired with another rank's all_reduce;
neither can complete, and each rank waits for partners that wait in the other operation.

## Example
    for name, value in metrics.items():      # insertion order differs between ranks
        agree[name](value)                   # all_reduce here, all_gather there

## Fix
Use the same order on every rank: iterate over `sorted(...)`, never over sets or dicts that are filled from data. Use
the same `src`.

## When it is wrong
A metric that is missing on one rank (DD211) looks the same at the moment of the hang, so this is at most `likely`.

## References
https://github.com/Lightning-AI/pytorch-lightning/issues/19680 https://github.com/NVIDIA/nccl/issues/296
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import COLLECTIVE_ORDER_MISMATCH
from ddpdoctor.diagnose.digest.histories import Step
from ddpdoctor.diagnose.divergence import patterns
from ddpdoctor.diagnose.divergence.causes import special
from ddpdoctor.diagnose.divergence.patterns import Shape, Story
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import RankSet


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for story in patterns.stories(facts):
        act, instead = story.act, story.instead
        if (
            story.shape is Shape.ORDER
            and act
            and instead
            and act.group == instead.group
            and special(facts, story) is None
        ):
            yield _diagnosis(facts, story)


def _diagnosis(facts: Facts, story: Story) -> Diagnosis:
    act, instead = story.act, story.instead
    ours, theirs = (act.op if act else ""), (instead.op if instead else "")
    culprits = RankSet() if story.tie else (story.actors if story.minority else story.others)
    waits = [wait for rank in (*story.actors, *story.others) if (wait := facts.wait(rank))]
    seqs = sorted({wait.seq for wait in waits if wait.seq is not None})
    number = f" as operation {seqs[0]}" if len(seqs) == 1 else ""
    first, second = (story.actors, story.others) if story.minority else (story.others, story.actors)
    return Diagnosis(
        COLLECTIVE_ORDER_MISMATCH.code,
        COLLECTIVE_ORDER_MISMATCH.name,
        Confidence.LIKELY,
        Confidence.POSSIBLE if story.tie else Confidence.LIKELY,
        culprits,
        facts.waiting - culprits,
        f"{wording.ranks(story.actors)} {wording.verb(story.actors, 'issues', 'issue')} {_step(act, instead)} where "
        f"{wording.ranks(story.others)} {wording.verb(story.others, 'issues', 'issue')} {_step(instead, act)}",
        f"Collectives of a group are paired by their order{number}: {ours} on {wording.ranks(story.actors)} meets "
        f"{theirs} on {wording.ranks(story.others)}, and each waits for ranks that are in the other.",
        "Issue collectives in one fixed order on every rank, for instance over sorted names, not in an order that "
        "data decide.",
        facts.standing_locations(first) + facts.standing_locations(second),
        (
            f"the histories part: {wording.step(act)} against {wording.step(instead)}",
            *patterns.parted_by(facts, story),
            *(f"rank {w.rank} waits in {w.op}, seq {w.seq}" for w in waits if w.mismatched),
        ),
    )


def _step(step: Step | None, other: Step | None) -> str:
    """The operation and its place, with its root where only that differs."""
    same_op = step is not None and other is not None and step.op == other.op
    if step is None or not same_op or step.root is None:
        return wording.step(step)
    return f"{step.op} with root {step.root} at {wording.place(step.site)}"
