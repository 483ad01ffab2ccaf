"""Causes that end in the same stacks and the same sequence numbers: victims in backward, the odd rank elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Diagnosis, Outcome
from ddpdoctor.model.evidence import Evidence
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import Doing, job
from tests.unit.diagnose.stories import AT, among, in_backward

POSITIONS = [(size, odd) for size in (2, 3, 4, 6) for odd in range(size)]
#: a step whose exceptions are swallowed, and its batch, forward, backward and update
CATCHING = """\
for batch in loader:
    try:
        loss = model(batch)
        loss.backward()
        optimizer.step()
    except ValueError:
        skipped += 1
log(skipped)
dist.barrier()
"""
CAUGHT = [AT.next(1), AT.forward(3), AT.backward(4), AT.update(5)]
everywhere = pytest.mark.parametrize(("size", "odd"), POSITIONS)


def first(evidence: Evidence) -> Diagnosis:
    report = examine(evidence)
    assert report.outcome is Outcome.HANG
    assert report.deadlock is Deadlock.PROVEN
    return report.diagnoses[0]


@everywhere
def test_uneven_inputs(size: int, odd: int) -> None:
    # GIVEN a rank whose iterator ended while the others got another batch
    found = first(among(size, odd, stories.ran_out))
    # THEN it is DD201, certain, with the loop's line
    assert (found.code, found.confidence) == ("DD201", Confidence.CERTAIN)
    assert found.culprits.members == (odd,)
    assert found.locations[0].line == stories.LOOP
    assert found.locations[0].source == "for batch in loader:"
    assert f"rank {odd} runs out of data" in found.summary
    assert "after 3 batches" in found.summary


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


@everywhere
def test_collective_under_a_rank_condition(size: int, odd: int) -> None:
    # GIVEN a barrier in a helper that only one rank calls
    found = first(among(size, odd, stories.saves_alone))
    assert (found.code, found.confidence) == ("DD203", Confidence.CERTAIN)
    assert found.culprits.members == (odd,)
    assert found.locations[0].line == 6
    # THEN the fix quotes the condition under which its caller stands
    assert "`if rank == 0 and due():`" in found.fix


@everywhere
def test_left_the_loop(size: int, odd: int) -> None:
    # GIVEN a rank behind a loop over a DataLoader that had not ended
    found = first(among(size, odd, stories.left_early))
    # THEN it is DD206, at the only `break`; with two ranks nobody can say who should have stopped
    assert (found.code, found.confidence) == ("DD206", Confidence.CERTAIN)
    assert found.culprits.members == (odd,)
    assert found.culprit_confidence is (Confidence.LIKELY if size == 2 else Confidence.CERTAIN)
    assert found.locations[0].source == "break"


@everywhere
def test_step_under_no_sync(size: int, odd: int) -> None:
    found = first(among(size, odd, stories.without_sync))
    assert (found.code, found.confidence) == ("DD217", Confidence.CERTAIN)
    assert found.culprits.members == (odd,)
    assert found.culprit_confidence is (Confidence.LIKELY if size == 2 else Confidence.CERTAIN)


@everywhere
def test_caught_exception(size: int, odd: int) -> None:
    # GIVEN a step inside a `try` that swallows, and nothing else that leads past it
    usual = Doing([*CAUGHT, *CAUGHT, *CAUGHT[:3]])
    strange = Doing([*CAUGHT, *CAUGHT[:2], *CAUGHT[:2], AT.stop(1), AT.all("barrier", 9)])
    found = first(job([strange if rank == odd else usual for rank in range(size)], code={AT.file: CATCHING}))
    # THEN it is DD208 at the `except`; only likely, since no exception was seen
    assert (found.code, found.confidence) == ("DD208", Confidence.LIKELY)
    assert found.culprits.members == (odd,)
    assert found.locations[0].source == "except ValueError:"


@everywhere
def test_forward_of_one_rank(size: int, odd: int) -> None:
    # GIVEN a rank inside the broadcast of buffers that its own forward issued, the others in a barrier behind it
    text = "def score(net):\n    return net(held_out)\n\ntrain()\nif rank == 0:\n    score(net)\ndist.barrier()\n"
    alone = [AT.forward(2), AT.broadcast(2, 0, function="score")]
    usual = Doing([*AT.step(10), AT.all("barrier", 7)])
    strange = Doing([*AT.step(10), *alone], callers=(AT.line(6),))
    found = first(job([strange if rank == odd else usual for rank in range(size)], code={AT.file: text}))
    assert (found.code, found.confidence) == ("DD205", Confidence.CERTAIN)
    assert found.culprits.members == (odd,)
    assert found.locations[0].line == 2


@everywhere
def test_unused_branch(size: int, odd: int) -> None:
    # GIVEN histories without a parting: the odd rank's backward returned with one all_reduce fewer
    found = first(unused_branch(size, odd))
    assert (found.code, found.confidence) == ("DD209", Confidence.CERTAIN)
    assert found.culprits.members == (odd,)
    assert found.culprit_confidence is (Confidence.LIKELY if size == 2 else Confidence.CERTAIN)
    # WHEN the odd rank's counters are not known THEN nobody is named for certain
    ranks = list(unused_branch(size, odd).ranks)
    ranks[odd] = replace(ranks[odd], page=None)
    report = examine(replace(unused_branch(size, odd), ranks=tuple(ranks)))
    assert all(diagnosis.confidence is not Confidence.CERTAIN for diagnosis in report.diagnoses)


def unused_branch(size: int, odd: int) -> Evidence:
    evidence = among(size, odd, lambda: stories.after_loop([*stories.epoch(4), AT.stop(stories.LOOP)]))
    ranks = []
    for seen in evidence.ranks:
        assert seen.page is not None
        assert seen.recorder is not None
        if seen.rank == odd:
            kept = (*seen.recorder.entries[:3], replace(seen.recorder.entries[-1], seq=4))
            ranks.append(replace(seen, recorder=replace(seen.recorder, entries=kept)))
        else:
            inside = replace(seen.page.counters, backward_left=seen.page.counters.backward_entered - 1)
            ranks.append(replace(seen, page=replace(seen.page, counters=inside)))
    return replace(evidence, ranks=tuple(ranks))


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


def test_a_majority_that_ran_out_points_at_the_rank_with_more() -> None:
    evidence = among(4, 2, lambda: in_backward(4), others=stories.ran_out())
    found = first(evidence)
    assert found.code == "DD201"
    assert found.culprits.members == (2,)


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


def test_counters_decide_where_the_ring_has_lost_the_beginning() -> None:
    odd, usual = stories.after_loop([*stories.epoch(30), AT.stop(10)]), in_backward(31)
    found = first(job([usual, odd, usual], code=stories.CODE, lost=60))
    assert found.code == "DD201"
    assert found.culprits.members == (1,)
