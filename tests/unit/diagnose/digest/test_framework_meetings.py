"""Ranks that meet through a framework's own service wait for each other as in a collective."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Outcome
from ddpdoctor.model.evidence import RankEvidence
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.stacks import Site
from tests.unit.diagnose.builders import At, Doing, job

TRAIN = At()
RAY = "/env/lib/python3.11/site-packages/ray"
REPORT = (
    Site(f"{RAY}/_private/worker.py", 1007, "Worker.get_objects"),
    Site(f"{RAY}/train/v2/_internal/execution/context.py", 474, "TrainContext.report"),
)
CODE = """\
def train(rank, model, batches):
    for batch in batches:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        if rank == 0:
            ray.train.report({})
    dist.barrier()
"""


def _meets(rank: RankEvidence, frames: tuple[Site, ...]) -> RankEvidence:
    """Its stack as it is inside of the framework."""
    assert rank.stacks is not None
    (thread,) = rank.stacks.threads
    return replace(rank, stacks=replace(rank.stacks, threads=(replace(thread, frames=(*frames, *thread.frames[1:])),)))


def test_one_that_waits_in_a_frameworks_meeting_is_waiting_but_proves_nothing() -> None:
    # GIVEN rank 0 that reports alone, and the others in their next backward
    steps = [*TRAIN.step(2), *TRAIN.step(2)]
    evidence = job(
        [Doing([*steps, TRAIN.all("ray.train.report", 7)]), Doing([*steps, TRAIN.next(2), TRAIN.all("barrier", 8)])],
        code={"/job/train.py": CODE},
    )
    evidence = replace(evidence, ranks=(_meets(evidence.ranks[0], REPORT), evidence.ranks[1]))
    # THEN
    report = examine(evidence)
    assert [rank.state for rank in report.ranks] == ["waiting", "waiting"]
    assert report.ranks[0].label == "ray.train.report"
    assert report.outcome is Outcome.HANG
    assert report.deadlock is not Deadlock.PROVEN
    assert report.diagnoses[0].culprits == RankSet.of([0])
    assert report.diagnoses[0].confidence is not Confidence.CERTAIN


def test_a_call_that_the_stack_contradicts_is_not_believed() -> None:
    # GIVEN a rank that has left the framework's function by a signal handler's exception
    evidence = job([Doing([*TRAIN.step(2), TRAIN.all("ray.train.report", 7)]), Doing([*TRAIN.step(2)])])
    gone = (Site("/job/other.py", 3, "handle"),)
    report = examine(replace(evidence, ranks=(_meets(evidence.ranks[0], gone), evidence.ranks[1])))
    assert report.ranks[0].label == "idle in handle"


@pytest.mark.parametrize(("issued", "code"), [(3, "DD209"), (4, "DD299")])
def test_a_rank_in_a_meeting_has_given_nothing_to_the_reduction_in_which_the_others_wait(
    issued: int, code: str
) -> None:
    steps = TRAIN.step(2) * 4
    evidence = job([Doing(steps[:-1]), Doing([*steps, TRAIN.all("ray.train.report", 7)])], code={"/job/train.py": CODE})
    usual, odd = evidence.ranks[0], _meets(evidence.ranks[1], REPORT)
    assert usual.page is not None
    assert odd.recorder is not None
    inside = replace(usual.page.counters, backward_left=usual.page.counters.backward_entered - 1)
    usual = replace(usual, page=replace(usual.page, counters=inside))
    odd = replace(odd, recorder=replace(odd.recorder, entries=odd.recorder.entries[:issued]))
    assert examine(replace(evidence, ranks=(usual, odd))).diagnoses[0].code == code
