"""Ranks whose data ended earlier than the others'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.evidence import Evidence, RankEvidence
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import Doing, job, raised
from tests.unit.diagnose.stories import AT, among, in_backward
from tests.unit.diagnose.verdicts import everywhere, first, one_odd, verdict

WALRUS = """\
def chunks(rows):
    while chunk := list(islice(rows, 6)):
        yield chunk


def main():
    for batch in chunks(rows):
        model(batch).sum().backward()
        optimizer.step()
    dist.barrier()
"""


def test_while_that_fetches_is_no_decision() -> None:
    # GIVEN a generator whose `while` ends where its data end
    step = [AT.forward(8), AT.backward(8), AT.update(9)]
    odd, usual = Doing([*step * 2, AT.all("barrier", 10)]), Doing([*step * 2, *step[:2]])
    found = verdict(WALRUS, one_odd(odd, usual))
    assert found.code in ("DD201", "DD299")
    assert found.culprits.members == (1,)


MICRO = """\
def cut(batch):
    group = []
    for row in batch:
        if len(group) == 4:
            yield group
            group = []
        group.append(row)
    yield group


def main():
    for batch in loader:
        for micro in cut(batch):
            model(micro).mean().backward()
        dist.all_reduce(norm)
        optimizer.step()
"""


def test_fewer_rounds_of_an_inner_loop_are_no_extra_call() -> None:
    # GIVEN a rank that cut its batch into fewer parts, so that both meet again in another round's backward
    part = [AT.forward(14), AT.backward(14)]
    end = [AT.all("all_reduce", 15), AT.update(16)]
    usual = Doing([AT.next(12), *part, *end, AT.next(12), *part * 2])
    odd = Doing([AT.next(12), *part, *end, AT.next(12), *part, *end, AT.next(12), *part])
    found = verdict(MICRO, one_odd(odd, usual))
    # THEN the inner loop ended first on it
    assert found.code in ("DD201", "DD202")
    assert (found.culprits.members, found.locations[0].line) == ((1,), 13)


def test_epoch_that_ended_earlier_and_the_next_began() -> None:
    # GIVEN a rank that ran out, met the others' gradients with its metric, and is in its next epoch
    text = "for epoch in range(3):\n    for x in loader:\n        model(x).backward()\n    dist.all_reduce(wer)\n"
    step = [AT.next(2), AT.forward(3), AT.backward(3)]
    usual = Doing([*step * 4])
    odd = Doing([*step * 3, AT.stop(2), AT.all("all_reduce", 4), *step])
    found = verdict(text, one_odd(odd, usual))
    assert (found.code, found.culprits.members) == ("DD201", (1,))
    assert found.locations[0].line == 2


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


def test_numbers_are_told_where_they_are_those_of_all_ranks_of_a_side() -> None:
    # GIVEN a framework that has fetched one batch ahead on one of the ranks that go on
    evidence = among(3, 1, stories.ran_out)
    assert "after 3 batches where ranks 0,2 got 4" in first(evidence).summary

    def ahead(seen: RankEvidence) -> RankEvidence:
        assert seen.page is not None
        loaders = tuple(replace(one, delivered=one.delivered + 1) for one in seen.page.counters.loaders)
        return replace(seen, page=replace(seen.page, counters=replace(seen.page.counters, loaders=loaders)))

    ranks = tuple(ahead(seen) if seen.rank == 2 else seen for seen in evidence.ranks)
    found = first(replace(evidence, ranks=ranks))
    assert found.code == "DD201"
    assert found.summary.endswith("where ranks 0,2 got another batch")


def test_a_majority_that_ran_out_points_at_the_rank_with_more() -> None:
    evidence = among(4, 2, lambda: in_backward(4), others=stories.ran_out())
    found = first(evidence)
    assert found.code == "DD201"
    assert found.culprits.members == (2,)


def test_counters_decide_where_the_ring_has_lost_the_beginning() -> None:
    odd, usual = stories.after_loop([*stories.epoch(30), AT.stop(10)]), in_backward(31)
    found = first(job([usual, odd, usual], code=stories.CODE, lost=60))
    assert found.code == "DD201"
    assert found.culprits.members == (1,)


@pytest.mark.parametrize(("mine", "theirs", "told"), [(3, 4, True), (4, 4, False), (3, None, False)])
def test_lengths_that_differ_are_told(mine: int, theirs: int | None, told: bool) -> None:
    # GIVEN loaders that said before the first batch how many they have
    evidence = among(3, 1, stories.ran_out)

    def long(seen: RankEvidence, length: int | None) -> RankEvidence:
        assert seen.page is not None
        loaders = tuple(replace(one, length=length) for one in seen.page.counters.loaders)
        return replace(seen, page=replace(seen.page, counters=replace(seen.page.counters, loaders=loaders)))

    ranks = tuple(long(seen, mine if seen.rank == 1 else theirs) for seen in evidence.ranks)
    facts = first(replace(evidence, ranks=ranks)).evidence
    assert ("rank 1: a loader of 3 batches, as its length says" in facts) is told
    assert ("ranks 0,2: a loader of 4 batches, as its length says" in facts) is told


EPOCHS = """\
def epoch(loader, budget):
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()
        if budget.spend(batch):
            break


def main():
    for number in range(4):
        epoch(loader, budget)
    dist.barrier()
"""


def _loaders(evidence: Evidence, counted: Sequence[tuple[int, int]]) -> Evidence:
    """With the iterators that each rank has made, and how many of them ended."""
    ranks = list(evidence.ranks)
    for rank, (made, stops) in enumerate(counted):
        page = ranks[rank].page
        assert page is not None
        (count,) = page.counters.loaders
        counters = replace(page.counters, loaders=(replace(count, made=made, stops=stops),))
        ranks[rank] = replace(ranks[rank], page=replace(page, counters=counters))
    return replace(evidence, ranks=tuple(ranks))


@pytest.mark.parametrize(("made", "code"), [(4, "DD299"), (1, "DD201")])
def test_a_rank_that_broke_off_its_rounds_is_in_another_one(made: int, code: str) -> None:
    """The others came to the ends of their data as they should; nothing says that those were fewer."""
    step = [AT.next(2), AT.forward(3), AT.backward(3), AT.update(4)]
    usual, odd = [*step * 3, AT.stop(2), *step * 2, *step[:3]], [*step * 5, AT.all("barrier", 12)]
    evidence = job([Doing(usual), Doing(usual), Doing(odd)], code={AT.file: EPOCHS})
    assert examine(_loaders(evidence, [(2, 1), (2, 1), (made, 0)])).diagnoses[0].code == code


@pytest.mark.parametrize(("made", "code"), [(2, "DD299"), (1, "DD201")])
def test_a_rank_that_broke_off_a_round_may_have_ended_its_last(made: int, code: str) -> None:
    """It is in none any more, so one that did not end was left."""
    step = [AT.next(2), AT.forward(3), AT.backward(3), AT.update(4)]
    usual, odd = [*step * 3, AT.stop(2), *step, *step[:3]], [*step * 4, AT.stop(2), AT.all("barrier", 12)]
    evidence = job([Doing(usual), Doing(usual), Doing(odd)], code={AT.file: EPOCHS})
    assert examine(_loaders(evidence, [(2, 1), (2, 1), (made, 1)])).diagnoses[0].code == code


def test_each_end_of_the_ranks_without_a_batch_is_told() -> None:
    # GIVEN gloo's abort of one of two ranks that reduce another tensor after the loop
    batch, total = [AT.next(3), AT.all("all_reduce", 4)], replace(AT.all("all_reduce", 9), elements=1)
    ended = [*batch * 4, AT.stop(3), total]
    short = [Doing(ended, exit_status=status) for status in (-15, -6)]
    lost = raised("RuntimeError", "Connection reset by peer", 60.0, AT.line(4))
    found = examine(job([Doing([*batch * 5], exit_status=1, raised=lost), *short])).diagnoses[0]
    assert found.code == "DD201"
    assert "ended by SIGTERM at train.py:9 (rank 1) and ended by SIGABRT at train.py:9 (rank 2)" in found.why
