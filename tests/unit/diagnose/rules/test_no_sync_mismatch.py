"""Steps that one rank ran under no_sync."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.progress import Counters
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import At, Doing, job
from tests.unit.diagnose.stories import among
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
