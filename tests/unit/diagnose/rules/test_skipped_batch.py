"""Batches that one rank skipped because of a condition."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.model.diagnosis import Confidence
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import Act, At, Doing, job
from tests.unit.diagnose.stories import AT, among
from tests.unit.diagnose.verdicts import everywhere, first, verdict


@everywhere
def test_skipped_backward(size: int, odd: int) -> None:
    # GIVEN a rank that ran the forward of a batch but not its backward
    found = first(among(size, odd, stories.skipped))
    assert found.code == "DD207"
    assert found.culprits.members == (odd,)
    assert "skipped the backward" in found.summary


@everywhere
def test_skipped_forward(size: int, odd: int) -> None:
    found = first(among(size, odd, stories.skipped_forward))
    assert found.code == "DD207"
    assert found.culprits.members == (odd,)
    # a caught exception before the forward would look the same
    assert found.confidence is Confidence.LIKELY


def test_skip_is_certain_where_the_source_shows_the_only_way_past() -> None:
    # GIVEN a `continue` between forward and backward, and no `try` around
    text = "for batch in loader:\n    loss = model(batch)\n    if bad(loss):\n        continue\n    loss.backward()\n"
    text += "    step()\nbarrier()\n"
    batch = [AT.next(1), AT.forward(2), AT.backward(5), AT.update(6)]
    odd = Doing([*batch, *batch[:2], *batch, AT.stop(1), AT.all("barrier", 7)])
    usual = Doing([*batch, *batch, *batch[:3]])
    certain = first(job([usual, odd, usual], code={AT.file: text}))
    assert (certain.code, certain.confidence) == ("DD207", Confidence.CERTAIN)
    assert certain.locations[0].source == "continue"
    # WHEN a `try` could have caught an exception instead THEN it is only likely
    shifted = "for batch in loader:\n  try:\n    loss = model(batch)\n    if bad(loss): continue\n    loss.backward()\n"
    shifted += "  except ValueError: pass\n"
    likely = first(job([usual, odd, usual], code={AT.file: shifted}))
    assert (likely.code, likely.confidence) == ("DD207", Confidence.LIKELY)


FIT = """\
def train_step(batch):
    if not batch.any():
        return zero
    return forward_and_backward(batch)

for batch in loader:
    loss = train_step(batch)
    optimizer.step()
dist.barrier()
"""


def _inside(act: Act) -> Act:
    way = (AT.line(4, "train_step"), AT.line(7, "<module>"))
    return replace(act, site=way[0], path=way)


def test_a_step_of_the_optimizer_follows_the_skipped_forward_as_it_follows_every_forward() -> None:
    batch = [AT.next(6), _inside(AT.forward(4)), _inside(AT.backward(4)), AT.update(8)]
    usual = Doing([*batch, *batch, *batch[:3]])
    short = Doing([*batch, batch[0], batch[3], *batch, AT.stop(6), AT.all("barrier", 9)])
    found = first(job([usual, short, usual], code={AT.file: FIT}))
    assert (found.code, found.culprits.members) == ("DD207", (1,))
    assert found.locations[0].source == "return zero"


def test_a_skip_before_the_forward_is_no_step_more_of_the_other_rank() -> None:
    # GIVEN two ranks, so that either may be the odd one, and a condition that only says `continue`
    text = "for batch in loader:\n    if rank == odd and empty(batch):\n        continue\n    loss = model(batch)\n"
    text += "    loss.backward()\n    step()\nbarrier()\n"
    batch = [AT.next(1), AT.forward(4), AT.backward(5), AT.update(6)]
    short = Doing([*batch, batch[0], *batch, AT.stop(1), AT.all("barrier", 7)])
    # it waits in its forward: DDP broadcasts the buffers of a model that has some
    usual = Doing([*batch, *batch, *batch[:2]])
    for order in ([short, usual], [usual, short]):
        found = verdict(text, order)
        assert (found.code, found.culprits.members) == ("DD207", (order.index(short),))
        assert found.locations[0].source == "continue"


PREVIEW = """\
def run(loader):
    batches = iter(loader)
    for batch in batches:
        model(batch).sum().backward()
        if rank == 0 and due():
            preview(batches)
    dist.barrier()


def preview(batches):
    show(next(batches))
"""


def test_a_batch_that_one_rank_takes_beside_the_loop() -> None:
    # GIVEN a loader whose batches are told by the line that made the iterator, and the frames by who took them
    run, start = At(function="run"), AT.line(20, "<module>")
    batch = replace(run.next(2), path=(run.line(3), start))
    step = [batch, *(replace(act, path=(act.site, start)) for act in (run.forward(4), run.backward(4)))]
    beside = replace(batch, path=(AT.line(11, "preview"), run.line(6), start))
    odd = Doing([*step * 2, beside, run.stop(2), run.all("barrier", 7)], callers=(start,))
    usual = Doing([*step * 3], callers=(start,))
    found = verdict(PREVIEW, [usual, odd, usual])
    # THEN the line that took it is named, and not the loop
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD207", (1,), 11)
    assert "took a batch" in found.summary
    # and where the others take batches there, too, nothing is said of it
    both = Doing([*step, beside, *step[1:], *step], callers=(start,))
    found = verdict(PREVIEW, [both, odd, both])
    assert "took a batch" not in found.summary
