"""Steps that one rank ran under no_sync."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.progress import Counters, EventKind, LoaderCount
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import Act, At, Doing, job
from tests.unit.diagnose.stories import AT, among
from tests.unit.diagnose.verdicts import everywhere, first, verdict


@everywhere
def test_step_under_no_sync(size: int, odd: int) -> None:
    found = first(among(size, odd, stories.without_sync))
    assert (found.code, found.confidence) == ("DD217", Confidence.CERTAIN)
    assert found.culprits.members == (odd,)
    assert found.culprit_confidence is (Confidence.LIKELY if size == 2 else Confidence.CERTAIN)


WINDOW = """\
def gradients(model):
    if full():
        return contextlib.nullcontext()
    return model.no_sync()

def main():
    for batch in loader:
        with gradients(model):
            loss = model(batch)
            loss.backward()
        optimizer.step()
"""


def test_the_with_that_leads_to_no_sync_by_way_of_a_helper() -> None:
    at = At(function="main")
    quiet = [at.next(7), at.forward_no_sync(9), at.backward(10), at.update(11)]
    loud = [at.next(7), at.forward(9), at.backward(10), at.update(11)]
    usual, odd = Doing([*loud, *loud[:3]]), Doing([*quiet, *loud[:3]])
    found = verdict(WINDOW, [usual, odd, usual])
    assert (found.code, found.locations[0].line) == ("DD217", 8)


TOLD = """\
def main():
    for batch in loader:
        engine.set_gradient_accumulation_boundary(window.push(batch))
        loss = engine(batch)
        engine.backward(loss)
"""


def test_the_call_by_which_a_framework_is_told() -> None:
    at = At(function="main")
    quiet = [at.next(2), at.forward_no_sync(4), at.backward(5), at.update(6)]
    loud = [at.next(2), at.forward(4), at.backward(5), at.update(6)]
    usual, odd = Doing([*loud, *loud[:3]]), Doing([*quiet, *loud[:3]])
    found = verdict(TOLD, [usual, odd, usual])
    assert (found.code, found.locations[0].line) == ("DD217", 3)


BLOCKED = """\
def training_step(self, batch):
    loss = self.net(batch)
    with self.trainer.strategy.block_backward_sync() if spike(loss) else nullcontext():
        self.manual_backward(loss)
"""


def test_a_framework_that_prepares_the_reducer_itself_for_each_backward() -> None:
    """The forward of all ranks synchronises; what counts is whether its backward does."""
    at = At(function="training_step")
    loud, quiet = (
        [Act(EventKind.NEXT, at.line(9)), at.forward(9), at.backward(4, reduces=reduces)] for reduces in (True, False)
    )
    usual, odd = Doing([*loud * 3, *loud]), Doing([*loud, *quiet, *loud * 2])
    found = verdict(BLOCKED, [usual, odd, usual])
    assert (found.code, found.locations[0].line, found.culprits.members) == ("DD217", 3, (1,))


HELD = """\
def main():
    for batch in loader:
        scope = nullcontext() if budget.admit(batch) else model.no_sync()
        with scope:
            loss = model(batch)
            loss.backward()
    dist.barrier()
"""


@pytest.mark.parametrize(("synchronised", "code"), [(15, "DD217"), (16, "DD201")])
def test_windows_that_end_at_other_micro_batches_are_counted(synchronised: int, code: str) -> None:
    """In no single event do they differ for good; one rank has made as many forwards and has reduced less often."""
    at = At(function="main")
    window = [*[at.forward_no_sync(5), at.backward(6)] * 3, at.forward(5), at.backward(6)]
    usual = Doing([*window * 4, at.forward(5), at.backward(6)])
    odd = Doing([*window * 4, at.all("barrier", 7)])
    evidence = job([usual, odd, usual], code={at.file: HELD})
    counted = (Counters(forwards=16, forwards_no_sync=48), Counters(forwards=synchronised, forwards_no_sync=49))
    ranks = tuple(
        replace(seen, page=replace(seen.page, counters=counted[seen.rank == 1])) for seen in evidence.ranks if seen.page
    )
    found = examine(replace(evidence, ranks=ranks)).diagnoses[0]
    assert found.code == code
    if code == "DD217":
        assert (found.confidence, found.culprits.members) == (Confidence.LIKELY, (1,))
        assert found.locations[0].line == 3


COUNTED = """\
def main():
    for batch in loader:
        enough = full(batch)
        with nullcontext() if enough else model.no_sync():
            loss = model(batch)
            loss.backward()
    dist.all_gather(found, loss)
"""


def _out_of_step(delivered: int = 24, later: Sequence[Act] = ()) -> Diagnosis:
    """24 batches in windows of four; rank 1's third has five. The loader draws one batch ahead, as Accelerate's does.

    `delivered`: what the others' loader counted; `later`: what rank 1 did after its epoch.
    """
    at = At(function="main")

    def epoch(ends: set[int]) -> list[Act]:
        forwards = [at.forward(5) if number in ends else at.forward_no_sync(5) for number in range(1, 25)]
        acts = [act for forward in forwards for act in (at.next(2), forward, at.backward(6))]
        return [at.next(2), *acts[:-3], at.stop(2), *acts[-2:]]

    usual = Doing(epoch({4, 8, 12, 16, 20, 24}))
    odd = Doing([*epoch({4, 8, 13, 17, 21}), *later, at.all("all_gather", 7)])
    evidence = job([usual, odd, usual], code={at.file: COUNTED})
    counters = [Counters((LoaderCount(at.line(2), delivered, 1),), 6, 18, 24, 23)] * 3
    counters[1] = Counters((LoaderCount(at.line(2), 24, 1),), 5, 19, 24, 24)
    ranks = tuple(
        replace(seen, page=replace(seen.page, counters=counters[seen.rank])) for seen in evidence.ranks if seen.page
    )
    return examine(replace(evidence, ranks=ranks)).diagnoses[0]


def test_a_window_out_of_step_is_no_end_of_the_data() -> None:
    """Its last batches pair with earlier ones of the others, so that its data seem to end first: the counts tell."""
    found = _out_of_step()
    assert (found.code, found.culprits.members, found.confidence) == ("DD217", (1,), Confidence.LIKELY)
    assert found.locations[0].line == 4


def test_more_batches_than_the_odd_ranks_are_an_end_of_the_data() -> None:
    assert _out_of_step(delivered=25).code != "DD217"


def test_batches_of_another_epoch_are_none_of_this_one() -> None:
    at = At(function="main")
    assert _out_of_step(later=[at.next(2), at.forward_no_sync(5), at.backward(6)]).code != "DD217"


PIECES = """\
def optimize(batch):
    for part in cut(batch):
        loss = engine(part)
        engine.backward(loss)
    engine.step()


for batch in loader:
    optimize(batch)
"""


@pytest.mark.parametrize(
    ("between", "code", "sure"),
    [
        ([], "DD202", Confidence.LIKELY),  # a batch in two parts, the first of which does not reduce
        ([AT.next(8)], "DD217", Confidence.LIKELY),
    ],
)
def test_a_step_in_two_parts_is_none_without_reduction(between: list[Act], code: str, sure: Confidence) -> None:
    reduced = AT.all("all_reduce", 4)
    part = [AT.forward(3), AT.backward(4, reduces=True), reduced]
    quiet = [AT.forward_no_sync(3), AT.backward(4, reduces=False), reduced]
    norm = AT.all("all_reduce", 5)
    whole = [AT.next(8), *part, norm, AT.update(5)]
    usual = Doing([*whole * 3, AT.next(8), *part, norm])
    odd = Doing([*whole * 3, AT.next(8), *quiet, *between, *part])
    found = examine(job([usual, odd, usual], code={AT.file: PIECES})).diagnoses[0]
    assert (found.code, found.culprits.members, found.confidence) == (code, (1,), sure)
