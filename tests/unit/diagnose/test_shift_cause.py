"""Ranks that still move, of which one has shifted: the cause is read from where their histories parted."""

from __future__ import annotations

import pytest

from ddpdoctor.diagnose import codes, shift_cause
from ddpdoctor.diagnose.codes import Rule
from ddpdoctor.diagnose.shift_cause import ShiftCause, Way
from ddpdoctor.model.ranks import RankSet
from tests.unit.diagnose.builders import NOW, Act, At, Doing, job

AT = At(function="main")
FILTERED = """\
def main():
    for batch in loader:
        kept = batch[batch > floor]
        if not len(kept):
            continue
        loss = model(kept)
        loss.backward()
        optimizer.step()
"""
CAUGHT = """\
def main():
    for batch in loader:
        try:
            encode(batch)
            loss = model(batch)
            loss.backward()
            optimizer.step()
        except KeyError:
            log(batch)
"""
LOGGED = """\
def main():
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        if loss > worst:
            dist.all_reduce(loss)
"""

AGAIN = """\
def main():
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        if loss > spike:
            loss = model(batch)
            loss.backward()
            optimizer.step()
"""


def step(forward: int) -> list[Act]:
    return [AT.next(2), AT.forward(forward), AT.backward(forward + 1), AT.update(forward + 2)]


def shifted(usual: list[Act], odd: list[Act], ranks: int) -> list[Doing]:
    """Rank 1 did something else in its sixth step, and all are at the beginning of the seventh."""
    return [Doing([*usual * 5, *(odd if rank == 1 else usual), usual[0]]) for rank in range(ranks)]


def cause(doing: list[Doing], code: dict[str, str], begin: float = 0.0) -> ShiftCause | None:
    """What is found of rank 1."""
    evidence = job(doing, code=code)
    return shift_cause.find(evidence, RankSet.of([1]), {seen.rank: Way(begin, NOW) for seen in evidence.ranks})


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize(
    ("source", "usual", "odd", "rule", "line"),
    [
        (FILTERED, step(6), [AT.next(2)], codes.SKIPPED_BATCH, 5),
        (CAUGHT, step(5), [AT.next(2)], codes.SWALLOWED_EXCEPTION, 8),
        (LOGGED, step(3), [*step(3), AT.all("all_reduce", 7)], codes.LOCAL_STOP_DECISION, 6),
        (AGAIN, step(3), [*step(3), *step(7)[1:]], codes.LOCAL_STOP_DECISION, 6),
    ],
)
def test_the_line_at_which_the_ranks_parted(
    source: str, usual: list[Act], odd: list[Act], rule: Rule, line: int, ranks: int
) -> None:
    found = cause(shifted(usual, odd, ranks), {AT.file: source})
    assert found is not None
    assert (found.rule, found.locations[0].line, found.locations[0].ranks.members) == (rule, line, (1,))
    assert found.fix


ACCUMULATING = """\
def main():
    for batch in loader:
        if batch.isnan().any():
            continue
        with window(batch):
            loss = model(batch)
            loss.backward()
"""


def test_a_micro_batch_that_is_left_out() -> None:
    quiet = [AT.next(2), AT.forward_no_sync(6), AT.backward(7)]
    usual = [*quiet, AT.next(2), AT.forward(6), AT.backward(7)]
    # of ranks that are in other batches at the same collective, the history of those that shifted ends as they part
    doing = [Doing([*usual * 5, *([AT.next(2), AT.next(2)] if rank == 1 else usual)]) for rank in range(3)]
    found = cause(doing, {AT.file: ACCUMULATING})
    assert found is not None
    assert (found.rule, found.locations[0].line) == (codes.SKIPPED_BATCH, 4)


PARTS = """\
def main():
    for batch in loader:
        for part in pack(batch):
            loss = model(part)
            loss.backward()
        optimizer.step()
"""


def test_counters_are_those_at_the_parting() -> None:
    """By now the rank with one part more is a batch behind, which it was not when they parted."""
    part = [AT.forward(4), AT.backward(5)]
    usual = [AT.next(2), *part * 2, AT.update(6)]
    doing = [
        Doing([*usual * 5, AT.next(2), *part * 2, *(part if rank == 1 else []), AT.update(6)]) for rank in range(3)
    ]
    now = job(
        [Doing([*one.acts, *usual * (3 if rank == 1 else 4)]) for rank, one in enumerate(doing)], code={AT.file: PARTS}
    )
    ends = {seen.rank: seen.page.events[len(doing[seen.rank].acts) - 1].time for seen in now.ranks if seen.page}
    found = shift_cause.find(now, RankSet.of([1]), {rank: Way(0.0, end) for rank, end in ends.items()})
    assert found is not None
    assert (found.rule, found.locations[0].line) == (codes.UNEVEN_MICROBATCHES, 3)


def test_what_came_later_does_not_count() -> None:
    doing = shifted(step(6), [AT.next(2)], 3)
    evidence = job([Doing([*one.acts, *step(6) * 3]) for one in doing], code={AT.file: FILTERED})
    ends = {seen.rank: seen.page.events[len(doing[seen.rank].acts) - 1].time for seen in evidence.ranks if seen.page}
    found = shift_cause.find(evidence, RankSet.of([1]), {rank: Way(0.0, end) for rank, end in ends.items()})
    assert found is not None
    assert (found.rule, found.locations[0].line) == (codes.SKIPPED_BATCH, 5)


def test_ranks_whose_histories_agree_have_no_cause() -> None:
    assert cause([Doing(step(6) * 8) for _ in range(3)], {AT.file: FILTERED}) is None


def test_without_source_no_condition_is_named() -> None:
    found = cause(shifted(step(6), [AT.next(2)], 3), {})
    assert found is not None
    assert (found.rule, found.sentences) == (codes.SKIPPED_BATCH, ())
