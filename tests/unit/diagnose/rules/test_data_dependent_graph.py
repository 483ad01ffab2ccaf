"""A branch of the model that one rank did not use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.evidence import Evidence
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import Act, At, Doing, job
from tests.unit.diagnose.stories import AT, among
from tests.unit.diagnose.verdicts import everywhere, first

#: a line behind the loop of the program
EVALUATES = 21


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


@everywhere
def test_the_forwards_of_an_evaluation_are_no_others_of_the_step(size: int, odd: int) -> None:
    evaluated = [AT.forward(EVALUATES)] * 3
    found = first(unused_branch(size, odd, evaluated))
    assert (found.code, found.confidence, found.culprits.members) == ("DD209", Confidence.CERTAIN, (odd,))


def test_what_is_lost_of_the_histories_may_have_shifted_the_calls_of_a_rank_that_went_on() -> None:
    evidence = unused_branch(3, 1, [AT.forward(EVALUATES)])
    lost = [replace(seen, page=replace(seen.page, events_lost=1)) for seen in evidence.ranks if seen.page]
    found = first(replace(evidence, ranks=tuple(lost)))
    assert (found.code, found.confidence, found.culprits.members) == ("DD209", Confidence.LIKELY, (1,))


def test_forwards_that_the_history_does_not_show_after_the_backward_may_belong_to_other_steps() -> None:
    evidence = unused_branch(3, 1)
    ranks = list(evidence.ranks)
    assert ranks[1].page is not None
    counters = replace(ranks[1].page.counters, forwards=ranks[1].page.counters.forwards + 3)
    ranks[1] = replace(ranks[1], page=replace(ranks[1].page, counters=counters))
    found = examine(replace(evidence, ranks=tuple(ranks))).diagnoses[0]
    assert (found.code, found.confidence) == ("DD209", Confidence.POSSIBLE)


def unused_branch(size: int, odd: int, later: Sequence[Act] = ()) -> Evidence:
    """The odd rank goes on after its last backward, with `later` before the call behind the loop."""
    evidence = among(size, odd, lambda: stories.after_loop([*stories.epoch(4), AT.stop(stories.LOOP), *later]))
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


PLACE = At("/job/average.py", "average")
AVERAGE = """\
def average(model):
    for parameter in model.parameters():
        if {condition}:
            continue
        dist.all_reduce(parameter.grad)


def step(model, batch):
    model(batch).sum().backward()
    average(model)
    dist.all_gather(found, count(batch))
"""


def _averaged(condition: str, odd: int, size: int = 3) -> Evidence:
    step = PLACE.line(10, "step")
    reduced = replace(PLACE.all("all_reduce", 5), path=(PLACE.line(5), step))
    gathered = PLACE.all("all_gather", 11, function="step")
    whole = [PLACE.backward(9), *[reduced] * 3, gathered]
    usual = Doing([*whole * 3, PLACE.backward(9), *[reduced] * 3], callers=(step,))
    fewer = Doing([*whole * 3, PLACE.backward(9), *[reduced] * 2, gathered])
    code = {PLACE.file: AVERAGE.format(condition=condition)}
    return job([fewer if rank == odd else usual for rank in range(size)], code=code)


@everywhere
def test_gradients_that_the_program_reduces_itself(size: int, odd: int) -> None:
    found = first(_averaged("parameter.grad is None", odd, size))
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD209", (odd,), 3)


def test_another_reason_to_leave_a_parameter_out_is_not_a_smaller_graph() -> None:
    report = examine(_averaged("parameter.numel() < smallest(loss)", 1))
    assert "DD209" not in [diagnosis.code for diagnosis in report.diagnoses]
