"""Steps that one rank ran under no_sync."""

from __future__ import annotations

from ddpdoctor.model.diagnosis import Confidence
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import At, Doing
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
