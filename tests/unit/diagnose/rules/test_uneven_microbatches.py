"""Batches that are split into a different number of micro-batches on one rank."""

from __future__ import annotations

import pytest

from ddpdoctor.diagnose.engine import examine
from tests.unit.diagnose.builders import Act, At, Doing, job

AT = At()
PROGRAM = """\
def train(loader):
    for batch in loader:
        for part in cut(batch):
            loss = model(part).sum()
            loss.backward()
        optimizer.step()
        dist.all_gather(losses, loss)
"""
CODE = {AT.file: PROGRAM}


def _step(parts: int, update: int = 6) -> list[Act]:
    acts = [AT.next(2)]
    for _ in range(parts):
        acts += [AT.forward(4), AT.backward(5)]
    return [*acts, AT.update(update), AT.all("all_gather", update + 1)]


@pytest.mark.parametrize("odd", range(3))
@pytest.mark.parametrize("parts", [1, 3])
def test_one_rank_has_one_more(odd: int, parts: int) -> None:
    usual = Doing([*_step(2), *_step(parts)])
    more = Doing([*_step(2), *_step(parts + 1)[:-2]])
    report = examine(job([more if rank == odd else usual for rank in range(3)], code=CODE))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD202", (odd,), 3)
    assert found.locations[1].line == 4


def test_one_rank_has_one_fewer() -> None:
    usual, fewer = Doing([*_step(2), *_step(3)[:-2]]), Doing([*_step(2), *_step(2)])
    found = examine(job([usual, usual, fewer], code=CODE)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD202", (2,))


def test_another_batch_is_another_cause() -> None:
    usual = Doing([*_step(1), *_step(1)])
    longer = Doing([*_step(1), *_step(1), AT.next(2), AT.forward(4), AT.backward(5)])
    report = examine(job([usual, longer, usual], code=CODE))
    assert "DD202" not in [d.code for d in report.diagnoses]


#: its conditions decide how many parts there are
SPLIT = """\
def cut(batch):
    part = []
    for row in batch:
        if part and full(part, row):
            yield part
            part = []
        part.append(row)
    if part:
        yield part
"""


def test_the_conditions_of_the_generator_that_splits_are_the_split() -> None:
    usual, more = Doing([*_step(2), *_step(2)]), Doing([*_step(2), *_step(3)[:-2]])
    found = examine(job([usual, more, usual], code={AT.file: PROGRAM + SPLIT})).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD202", (1,))


def test_a_condition_in_the_loop_itself_is_another_cause() -> None:
    leaves = PROGRAM.replace(
        "        optimizer", "            if enough(part):\n                break\n        optimizer"
    )
    usual, fewer = Doing([*_step(2, 8), *_step(3, 8)[:-2]]), Doing([*_step(2, 8), *_step(2, 8)])
    report = examine(job([usual, fewer, usual], code={AT.file: leaves + SPLIT}))
    assert "DD202" not in [one.code for one in report.diagnoses]


SHARDED = """\
def train_batch(batch):
    for part in passes(batch):
        loss = model(part).sum()
        loss.backward()
    norm = clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()

for batch in loader:
    train_batch(batch)
"""


def test_the_norm_of_sharded_gradients_comes_before_the_update() -> None:
    at = At(function="train_batch")

    def step(parts: int) -> list[Act]:
        gathers, scatters = at.all("all_gather_into_tensor", 3), at.all("reduce_scatter_tensor", 4)
        acts = [act for _ in range(parts) for act in (at.forward(3), gathers, at.backward(4), scatters)]
        return [AT.next(8), *acts, at.all("all_reduce", 5), at.update(6)]

    usual, more = Doing([*step(2), *step(2)[:-1]]), Doing([*step(2), *step(3)[:-4]])
    found = examine(job([usual, more, usual], code={AT.file: SHARDED})).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD202", (1,), 2)


MANUAL = """\
def training_step(self, songs):
    for part in cut(songs):
        loss = self.errors(part)
        self.manual_backward(loss)
    self.optimizer.step()
    self.log("loss", loss, sync_dist=True)
"""


@pytest.mark.parametrize("odd", range(3))
def test_of_a_model_that_is_not_called_through_its_wrapper_only_the_backwards_are_seen(odd: int) -> None:
    def batch(parts: int) -> list[Act]:
        return [AT.next(20), AT.forward(20), *[AT.backward(4)] * parts, AT.update(5), AT.all("all_reduce", 6)]

    usual, more = Doing([*batch(2) * 3]), Doing([*batch(2) * 2, *batch(3)[:-2]])
    report = examine(job([more if rank == odd else usual for rank in range(3)], code={AT.file: MANUAL}))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD202", (odd,), 2)
