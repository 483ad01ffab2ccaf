"""Loops without a loader: their counters, or a number of turns that all have, decide what histories do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from ddpdoctor.diagnose.divergence.divergences import divergences
from ddpdoctor.diagnose.divergence.loop_turns import is_a_turn_behind
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.diagnose.facts import digest
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.evidence import Evidence
from tests.statements.check import check
from tests.unit.diagnose.builders import Act, At, Doing, job
from tests.unit.diagnose.verdicts import first

AT = At()
ODD = 1
MAIN = AT.line(90, "main")
ODD_PLACE, OTHERS = (ODD,), (0, 2)

SKIPS = """\
def train(stream):
    for step, batch in enumerate(stream):
        loss = model(batch)
        if bad(loss):
            continue
        loss.backward()
        optimizer.step()
    dist.barrier()
"""
EMPTY = """\
def train(stream):
    for step, batch in enumerate(stream):
        if empty(batch):
            continue
        loss = model(batch)
        loss.backward()
        optimizer.step()
    dist.barrier()
"""
CATCHES = """\
def train(stream):
    for step, batch in enumerate(stream):
        try:
            frames = decoded(batch)
            loss = model(frames)
            loss.backward()
            optimizer.step()
        except DecodeError:
            broken.append(step)
    dist.barrier()
"""
BOTH = """\
def train(stream):
    for step, batch in enumerate(stream):
        try:
            if empty(batch):
                continue
            loss = model(batch)
            loss.backward()
            optimizer.step()
        except DecodeError:
            broken.append(step)
    dist.barrier()
"""
STOPS = """\
def train(stream):
    for step, batch in enumerate(stream):
        if last(batch):
            break
        loss = model(batch)
        loss.backward()
        optimizer.step()
    dist.barrier()
"""
STOPS_AFTER = """\
def train(stream):
    for step, batch in enumerate(stream):
        if empty(batch):
            continue
        loss = model(batch)
        loss.backward()
        optimizer.step()
        if flat(loss):
            break
    dist.barrier()
"""
COUNTS = """\
def train(stream):
    step = 0
    for batch in stream:
        step += 1
        if empty(batch):
            continue
        loss = model(batch)
        loss.backward()
        optimizer.step()
    dist.barrier()
"""


def turn(forward: int) -> list[Act]:
    """A turn whose forward is on this line, with backward and update on the following ones."""
    return [AT.forward(forward), AT.backward(forward + 1), AT.update(forward + 2)]


def hang(program: str, forward: int, odd: Mapping[str, int], others: Mapping[str, int], turns: int = 3) -> Evidence:
    """Three ranks after `turns` equal turns: rank 1 in the barrier after the loop, the others in one turn more."""
    equal = [act for _ in range(turns) for act in turn(forward)]
    end = next(n for n, line in enumerate(program.splitlines(), 1) if "dist.barrier()" in line)
    left = Doing([*equal, AT.all("barrier", end)], callers=(MAIN,), counts=odd)
    inside = Doing([*equal, *turn(forward)[:2]], callers=(MAIN,), counts=others)
    return job([left if rank == ODD else inside for rank in range(3)], code={AT.file: program})


def said(evidence: Evidence) -> Diagnosis:
    """The first diagnosis; all that it says is supported."""
    found = first(evidence)
    assert check(examine(evidence).diagnoses, evidence).faults == ()
    return found


def test_a_rank_that_took_the_turn_skipped_one() -> None:
    # GIVEN a counter that is the same on the rank that left the loop as on those in their fourth turn
    found = said(hang(EMPTY, 5, {"step": 3}, {"step": 3}))
    assert (found.code, found.confidence, found.culprits.members) == ("DD207", Confidence.LIKELY, ODD_PLACE)
    assert found.locations[0].source == "continue"
    assert any(one.startswith("`step` is 3 on ranks 0-2: rank 1 took the turn") for one in found.evidence)


def test_a_rank_whose_only_way_past_a_turn_is_a_handler_caught_an_exception() -> None:
    found = said(hang(CATCHES, 5, {"step": 5}, {"step": 3}))
    assert (found.code, found.confidence, found.culprits.members) == ("DD208", Confidence.LIKELY, ODD_PLACE)
    assert found.locations[0].source == "except DecodeError:"


def test_a_counter_that_excludes_the_end_of_the_loop_leaves_it_open_rather_than_wrong() -> None:
    # GIVEN an exception that is raised in the statement of the forward, before it: no way past it is seen
    program = CATCHES.replace("frames = decoded(batch)", "note(step)").replace("model(frames)", "model(decoded(batch))")
    program = program.replace("            note(step)\n", "")
    # THEN without the counter the loop's end is one explanation, and the exception another
    found = said(hang(program, 4, {}, {}))
    assert (found.code, found.confidence) == ("DD208", Confidence.POSSIBLE)
    found = said(hang(program, 4, {"step": 5}, {"step": 3}))
    assert found.code == "DD299"
    assert "DD208" in found.why
    assert "DD201" not in found.why
    assert any(one.startswith("`step` is 3 on ranks 0,2 and 5 on rank 1") for one in found.evidence)


def test_a_rank_with_one_turn_fewer_had_a_shorter_loop() -> None:
    found = said(hang(EMPTY, 5, {"step": 2}, {"step": 3}))
    assert (found.code, found.confidence, found.culprits.members) == ("DD201", Confidence.LIKELY, ODD_PLACE)
    assert found.locations[0].source == "for step, batch in enumerate(stream):"


def test_a_rank_that_began_the_turn_and_can_only_have_left_it_stopped_by_itself() -> None:
    found = said(hang(STOPS, 5, {"step": 3}, {"step": 3}))
    assert (found.code, found.confidence, found.culprits.members) == ("DD206", Confidence.LIKELY, ODD_PLACE)
    assert found.locations[0].source == "break"


def test_a_rank_that_did_not_begin_the_turn_cannot_have_left_in_it() -> None:
    assert said(hang(STOPS, 5, {"step": 2}, {"step": 3})).code == "DD201"


@pytest.mark.parametrize(("odd", "code"), [(4, "DD207"), (3, "DD201")])
def test_a_counter_in_the_body_counts_as_well(odd: int, code: str) -> None:
    assert said(hang(COUNTS, 7, {"step": odd}, {"step": 4})).code == code


LOOK_ALIKES: dict[str, Evidence] = {
    "no counter": hang(EMPTY, 5, {}, {}),
    "the counter of one side only": hang(EMPTY, 5, {}, {"step": 3}),
    "two turns fewer, though the histories agree": hang(EMPTY, 5, {"step": 1}, {"step": 3}),
    "the end of the data or a break after the last turn": hang(STOPS_AFTER, 5, {"step": 2}, {"step": 3}),
    "a counter that begins anywhere": hang(
        EMPTY.replace("enumerate(stream)", "enumerate(stream, begun)"), 5, {"step": 3}, {"step": 3}
    ),
    "a counter that the loop changes": hang(
        EMPTY.replace("optimizer.step()", "optimizer.step(); step = seen()"), 5, {"step": 3}, {"step": 3}
    ),
    "a counter past which a turn may end": hang(
        COUNTS.replace("        step += 1\n", "").replace("()\n    dist", "()\n        step += 1\n    dist"),
        6,
        {"step": 3},
        {"step": 3},
    ),
    "no way past the turn that the source shows": hang(
        EMPTY.replace("continue", "note(batch)"), 5, {"step": 3}, {"step": 3}
    ),
}


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_what_counters_do_not_decide_stays_open(name: str) -> None:
    found = said(LOOK_ALIKES[name])
    assert (found.code, found.confidence) == ("DD299", Confidence.POSSIBLE)


def test_of_a_condition_and_a_handler_that_lead_past_the_turn_the_handler_is_the_likelier() -> None:
    found = said(hang(BOTH, 6, {"step": 3}, {"step": 3}))
    assert (found.code, found.confidence) == ("DD208", Confidence.POSSIBLE)


AGAIN = """\
def train(stream):
    for step, batch in enumerate(stream):
        learn(batch)
        if spike(batch):
            learn(batch)
    dist.barrier()

def learn(batch):
    loss = model(batch)
    loss.backward()
    optimizer.step()
"""


def test_a_step_that_the_others_may_have_made_once_more_was_not_skipped_for_sure() -> None:
    at = At(function="learn")
    acts = [at.forward(9), at.backward(10), at.update(11)]
    whole = [replace(act, path=(act.site, AT.line(3), MAIN)) for act in acts]
    odd = Doing([*whole * 3, AT.all("barrier", 6)], callers=(MAIN,), counts={"step": 3})
    usual = Doing([*whole * 3, *whole[:2]], callers=(AT.line(3), MAIN), counts={"step": 3})
    assert said(job([usual, odd, usual], code={AT.file: AGAIN})).code == "DD299"


def test_of_two_ranks_with_a_lost_history_none_is_told_to_have_skipped() -> None:
    equal = [act for _ in range(3) for act in turn(5)]
    odd = Doing([*equal, AT.all("barrier", 8)], callers=(MAIN,), counts={"step": 3})
    usual = Doing([*equal, *turn(5)[:2]], callers=(MAIN,), counts={"step": 3})
    assert said(job([usual, odd], code={AT.file: EMPTY})).code == "DD207"
    assert said(job([usual, odd], code={AT.file: EMPTY}, lost=2)).code == "DD299"


EPOCHS = """\
def train(stream):
    for epoch in range(count):
        for step, batch in enumerate(stream):
            if empty(batch):
                continue
            loss = model(batch)
            loss.backward()
            optimizer.step()
{between}    dist.barrier()
"""


def test_epochs_that_do_not_meet_hide_turns_of_earlier_ones() -> None:
    # GIVEN a rank with a shorter stream in each of two epochs: in the second it seems to have as many turns as others
    program = EPOCHS.format(between="")
    found = said(hang(program, 6, {"step": 2, "epoch": 1}, {"step": 2, "epoch": 1}, turns=6))
    assert found.code == "DD299"


@pytest.mark.parametrize(
    ("between", "skipped"),
    [("        dist.barrier()\n", True), ("        if epoch == 1:\n            dist.barrier()\n", False)],
)
def test_epochs_that_always_meet_are_compared_one_by_one(between: str, skipped: bool) -> None:
    program = EPOCHS.format(between=between)
    line = next(n for n, text in enumerate(program.splitlines(), 1) if "dist.barrier()" in text)
    equal = [*turn(6), *turn(6), AT.all("barrier", line), *turn(6), *turn(6)]
    odd = Doing([*equal, AT.all("barrier", line)], callers=(MAIN,), counts={"epoch": 1, "step": 2})
    usual = Doing([*equal, *turn(6)[:2]], callers=(MAIN,), counts={"epoch": 1, "step": 2})
    found = said(job([usual, odd, usual], code={AT.file: program}))
    assert (found.code == "DD207") == skipped


EQUAL = """\
COUNT = 600

def reads(lane):
    for number in range(COUNT):
        yield read(lane, number)

def train(lane):
    for tokens in reads(lane):
        if unknown(tokens):
            continue
        loss = model(tokens)
        loss.backward()
        optimizer.step()
    dist.barrier()

def main():
    train(dist.get_rank())

main()
"""


def equal(program: str) -> Diagnosis:
    line = next(n for n, text in enumerate(program.splitlines(), 1) if "model(" in text)
    end = next(n for n, text in enumerate(program.splitlines(), 1) if "dist.barrier()" in text)
    callers = (AT.line(end + 3, "main"), AT.line(end + 5, "<module>"))
    turns = [act for _ in range(3) for act in turn(line)]
    odd = Doing([*turns, AT.all("barrier", end)], callers=callers)
    usual = Doing([*turns, *turn(line)[:2]], callers=callers)
    return said(job([usual, odd, usual], code={AT.file: program}))


def test_a_loop_that_has_equally_many_turns_everywhere_was_not_shorter() -> None:
    found = equal(EQUAL)
    assert (found.code, found.confidence) == ("DD207", Confidence.LIKELY)
    assert "the loop at train.py:8 has equally many turns on all ranks, by its source" in found.evidence


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # the generator may leave elements out
        ("        yield read(lane, number)", "        if fits(lane, number):\n            yield read(lane, number)"),
        (
            "        yield read(lane, number)",
            "        if odd(lane, number):\n            continue\n        yield number",
        ),
        # it gives others before
        ("    for number in", "    yield from begun(lane)\n    for number in"),
        ("    for number in", "    for one in begun(lane):\n        yield one\n    for number in"),
        # it may be longer on one rank
        ("range(COUNT)", "range(COUNT + lane)"),
        # another iterator ends the loop as well
        ("in reads(lane)", "in zip(reads(lane), labels(lane))"),
        # nothing leads past the turn
        ("            continue\n", "            note(tokens)\n"),
    ],
)
def test_a_generator_that_may_give_fewer_leaves_it_open(old: str, new: str) -> None:
    assert equal(EQUAL.replace(old, new)).code in ("DD299", "DD201")
    assert equal(EQUAL.replace(old, new)).code != "DD207"


BEST = """\
def train(parts):
    for epoch in range(9):
        for batch in parts:
            loss = model(batch)
            loss.backward()
            optimizer.step()
        score = validated(model)
        if score < best[0]:
            best[0] = score
            dist.barrier()
"""


def kept_the_best(behind: int, ahead: int, program: str = BEST) -> Evidence:
    """Ranks 0 and 2 in the barrier after the loop over batches, rank 1 in that loop again."""
    equal = [act for _ in range(3) for act in turn(4)]
    waiting = Doing([*equal, AT.all("barrier", 10)], callers=(MAIN,), counts={"epoch": behind})
    gone_on = Doing([*equal, *turn(4)[:2]], callers=(MAIN,), counts={"epoch": ahead})
    return job([gone_on if rank == ODD else waiting for rank in range(3)], code={AT.file: program})


def test_a_rank_that_is_a_turn_of_the_outer_loop_ahead_has_passed_the_call_over() -> None:
    """The end of the inner loop is no difference then: the rank ahead has ended it as well."""
    found = said(kept_the_best(2, 3))
    assert (found.code, found.confidence, found.culprits.members) == ("DD206", Confidence.LIKELY, ODD_PLACE)
    assert found.locations[0].source == "if score < best[0]:"


def test_under_a_condition_on_the_rank_it_is_a_collective_under_that() -> None:
    found = said(kept_the_best(2, 3, BEST.replace("score < best[0]", "dist.get_rank() != 1")))
    assert (found.code, found.culprits.members) == ("DD203", ODD_PLACE)


@pytest.mark.parametrize(("behind", "ahead", "passed"), [(2, 3, True), (2, 2, False), (2, 4, False), (3, 2, False)])
def test_only_the_next_turn_of_the_outer_loop_shows_that_a_call_was_passed_over(
    behind: int, ahead: int, *, passed: bool
) -> None:
    facts = digest(kept_the_best(behind, ahead))
    (found,) = divergences(facts)
    compared = found.compared if 0 in found.odd else found.compared.mirrored()
    assert is_a_turn_behind(facts, compared) is passed
    assert not is_a_turn_behind(facts, compared.mirrored())
