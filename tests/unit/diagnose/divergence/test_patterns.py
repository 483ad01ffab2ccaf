"""Differences between histories that are no divergence, and those that are."""

from __future__ import annotations

import pytest

from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.progress import EventKind
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import Act, At, Doing, job
from tests.unit.diagnose.stories import AT, in_backward
from tests.unit.diagnose.verdicts import first


def test_rank_local_logging_and_evaluation_are_no_cause() -> None:
    # GIVEN rank 0 that also reads a validation loader, without collectives, in every round
    extra = [AT.next(40), AT.next(40), AT.stop(40)]
    busy = [act for _ in range(3) for act in [*AT.step(10), *extra]]
    odd = Doing([*AT.step(10), *AT.step(10), *AT.step(10), AT.stop(10), AT.all("barrier", 21)], callers=(stories.MAIN,))
    rank0 = Doing([*busy, *AT.step(10)[:3]], callers=(stories.MAIN,))
    found = first(job([rank0, odd, in_backward(4)], code=stories.CODE))
    assert found.code == "DD201"
    assert found.culprits.members == (1,)
    assert found.confidence is Confidence.CERTAIN


AVERAGING = """\
def train(loader):
    for _ in range(epochs):
        for batch in rows():
            loss(batch).backward()
            optimizer.step()
        dist.all_reduce(weights)
    dist.all_gather(losses, own)


def main():
    train()
    if eliminated:
        return
    dist.barrier()
"""
ALONE = At()


def _rounds(epochs: int, batches: int) -> list[Act]:
    epoch = [*[ALONE.backward(4), ALONE.update(5)] * batches, ALONE.all("all_reduce", 6)]
    return [*epoch * epochs, ALONE.all("all_gather", 7)]


@pytest.mark.parametrize("fewer", [8, 12, 23])
def test_rounds_that_a_rank_trains_for_itself_need_not_be_equally_many(fewer: int) -> None:
    # GIVEN ranks that meet after each of four epochs, of which one has larger batches, and ends early
    at_end = ALONE.all("barrier", 14, function="main")
    usual = Doing([*_rounds(4, 24), at_end], callers=(ALONE.line(15, "<module>"),))
    odd = Doing(_rounds(4, fewer), exit_status=0)
    found = first(job([usual, odd, usual], code={ALONE.file: AVERAGING}))
    assert (found.code, found.culprits.members) == ("DD252", (1,))


EVALUATING = """\
def forward(self, x):
    dist.all_reduce(x)
    if self.blurred(x).any():
        dist.all_reduce(x)
    return x


def evaluate(model, loader):
    for x in loader:
        model(x)
    dist.barrier()
"""


def _reduces(line: int) -> Act:
    path = (ALONE.line(line, "forward"), ALONE.line(10, "evaluate"))
    return Act(EventKind.CALL, path[0], "all_reduce", path=path)


def test_the_end_of_a_loop_behind_a_module_that_was_left_out_is_not_where_ranks_parted() -> None:
    batch = [ALONE.next(9), _reduces(2), _reduces(4)]
    within = (ALONE.line(10, "evaluate"), ALONE.line(12, "<module>"))
    usual = Doing([*batch * 4], callers=within)
    behind = [ALONE.stop(9), ALONE.all("barrier", 11, function="evaluate")]
    odd = Doing([*batch * 3, *batch[:2], *behind], callers=(ALONE.line(12, "<module>"),))
    found = first(job([usual, odd, usual], code={ALONE.file: EVALUATING}))
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD210", (1,), 4)
