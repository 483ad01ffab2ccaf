"""Causes that end in the same stacks and the same sequence numbers: victims in backward, the odd rank elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Diagnosis, Outcome
from ddpdoctor.model.evidence import Evidence
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import Doing
from tests.unit.diagnose.stories import AT, among, in_backward

POSITIONS = [(size, odd) for size in (2, 3, 4, 6) for odd in range(size)]
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
@pytest.mark.parametrize("neighbour", [stories.left_early, stories.without_sync])
def test_neighbours_are_not_taken_for_what_they_are_not(size: int, odd: int, neighbour: Callable[[], Doing]) -> None:
    # GIVEN an early break or a no_sync step THEN none of their neighbours is named
    codes = {diagnosis.code for diagnosis in examine(among(size, odd, neighbour)).diagnoses}
    assert not codes & {"DD201", "DD203", "DD207", "DD213", "DD220"}


@everywhere
def test_unused_branch_is_not_certain_of_anything(size: int, odd: int) -> None:
    # GIVEN histories without a parting: the odd rank's backward returned with one all_reduce fewer
    evidence = among(size, odd, lambda: stories.after_loop([*stories.epoch(4), AT.stop(stories.LOOP)]))
    ranks = list(evidence.ranks)
    recorder = ranks[odd].recorder
    assert recorder is not None
    kept = [*recorder.entries[:3], replace(recorder.entries[-1], seq=4)]
    ranks[odd] = replace(ranks[odd], recorder=replace(recorder, entries=tuple(kept)))
    report = examine(replace(evidence, ranks=tuple(ranks)))
    assert report.deadlock is Deadlock.PROVEN
    assert all(diagnosis.confidence is not Confidence.CERTAIN for diagnosis in report.diagnoses)
    assert report.diagnoses[0].code == "DD299"


def test_skip_is_certain_where_the_source_shows_the_only_way_past() -> None:
    # GIVEN a `continue` between forward and backward, and no `try` around
    text = "for batch in loader:\n    loss = model(batch)\n    if bad(loss):\n        continue\n    loss.backward()\n"
    text += "    step()\nbarrier()\n"
    batch = [AT.next(1), AT.forward(2), AT.backward(5), AT.update(6)]
    odd = Doing([*batch, *batch[:2], *batch, AT.stop(1), AT.all("barrier", 7)])
    usual = Doing([*batch, *batch, *batch[:3]])
    from tests.unit.diagnose.builders import job

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
    from tests.unit.diagnose.builders import job

    found = first(job([rank0, odd, in_backward(4)], code=stories.CODE))
    assert found.code == "DD201"
    assert found.culprits.members == (1,)
    assert found.confidence is Confidence.CERTAIN


def test_counters_decide_where_the_ring_has_lost_the_beginning() -> None:
    from tests.unit.diagnose.builders import job

    odd, usual = stories.after_loop([*stories.epoch(30), AT.stop(10)]), in_backward(31)
    found = first(job([usual, odd, usual], code=stories.CODE, lost=60))
    assert found.code == "DD201"
    assert found.culprits.members == (1,)
