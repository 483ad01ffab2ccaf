"""Tensors of different sizes in one call of all ranks, and what only looks like it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.evidence import Evidence
from tests.unit.diagnose.builders import At, Doing, job, raised

AT = At()


def _aborted(sizes: Sequence[int], op: str = "all_reduce", lines: Sequence[int] = (), extra: int = 0) -> Evidence:
    """gloo ended the rank with the smallest tensor; the others lost it."""
    lost = raised("RuntimeError", "Connection closed by peer [127.0.0.1]:1", 60.0, AT.line(3))
    smallest = list(sizes).index(min(sizes))
    doing = []
    for rank in range(len(sizes)):
        acts = [AT.all(op, lines[rank] if lines else 3)] * (1 + (extra if rank == smallest else 0))
        own = rank == smallest
        doing.append(Doing(acts, exit_status=-6 if own else 1, raised=None if own else lost))
    evidence = job(doing)
    ranks = []
    for seen, size in zip(evidence.ranks, sizes, strict=True):
        assert seen.page is not None
        events = tuple(
            replace(e, call=e.call and replace(e.call, numel=size, dtype="float32")) for e in seen.page.events
        )
        ranks.append(replace(seen, page=replace(seen.page, events=events)))
    return replace(evidence, ranks=tuple(ranks))


def _in_turn(sizes: Sequence[Sequence[int]]) -> Evidence:
    """Each rank made one call of each size at one line, and gloo ended the first rank in the last one."""
    lost = raised("RuntimeError", "Connection closed by peer [127.0.0.1]:1", 60.0, AT.line(3))
    acts = [AT.all("all_reduce", 3)] * len(sizes[0])
    evidence = job(
        [Doing(acts, exit_status=1 if rank else -6, raised=lost if rank else None) for rank in range(len(sizes))]
    )
    ranks = []
    for seen, own in zip(evidence.ranks, sizes, strict=True):
        assert seen.page is not None
        left = iter(own)
        events = tuple(
            replace(e, call=replace(e.call, numel=next(left), dtype="float32")) if e.call else e
            for e in seen.page.events
        )
        ranks.append(replace(seen, page=replace(seen.page, events=events)))
    return replace(evidence, ranks=tuple(ranks))


@pytest.mark.parametrize(
    ("now", "culprits"),
    [
        # the second rank goes on to the third parameter
        ((2, 4), (1,)),
        ((4, 2), (0,)),
        # of other sizes nothing is known
        ((2, 9), ()),
        ((9, 2), ()),
    ],
)
def test_a_rank_that_left_out_a_call_of_the_round(now: tuple[int, int], culprits: tuple[int, ...]) -> None:
    rounds = [8, 2, 4, 8, 8, 2, 4, 8, 8]
    found = examine(_in_turn([[*rounds, size] for size in now])).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD214", culprits)
    assert ("left out" in found.why) == bool(culprits)


def test_in_the_first_round_nothing_tells_what_comes_behind() -> None:
    found = examine(_in_turn([[8, 2], [8, 4]])).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD214", ())


@pytest.mark.parametrize("odd", range(3))
def test_the_rank_whose_tensor_is_another(odd: int) -> None:
    found = examine(_aborted([7 if rank == odd else 9 for rank in range(3)])).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD214", (odd,), 3)


def test_all_different_blames_nobody() -> None:
    found = examine(_aborted([4, 5, 6])).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD214", ())


@pytest.mark.parametrize("op", ["all_to_all", "gather", "all_gather_object"])
def test_sizes_that_may_differ_say_nothing(op: str) -> None:
    assert "DD214" not in [d.code for d in examine(_aborted([7, 9, 9], op)).diagnoses]


def test_another_line_is_another_cause() -> None:
    assert "DD214" not in [d.code for d in examine(_aborted([7, 9, 9], lines=(5, 3, 3))).diagnoses]


def test_another_round_is_another_cause() -> None:
    report = examine(_aborted([7, 9, 9], extra=1))
    assert "DD214" not in [d.code for d in report.diagnoses if d.confidence.value != "possible"]


def _left(sizes: Sequence[int], gone: Sequence[int]) -> Evidence:
    """Ranks that have left the call for a barrier, and others that wait in it."""
    calls = [AT.all("all_reduce", 3)] * 5
    evidence = job([Doing([*calls, AT.all("barrier", 4)] if rank in gone else calls) for rank in range(len(sizes))])
    ranks = []
    for seen, size in zip(evidence.ranks, sizes, strict=True):
        assert seen.page is not None
        *earlier, last = [n for n, event in enumerate(seen.page.events) if event.call and event.call.op == "all_reduce"]
        events = list(seen.page.events)
        for n in (*earlier, last):
            call = events[n].call
            assert call is not None
            events[n] = replace(events[n], call=replace(call, numel=size if n == last else 9, dtype="float32"))
        ranks.append(replace(seen, page=replace(seen.page, events=tuple(events))))
    return replace(evidence, ranks=tuple(ranks))


def test_a_rank_that_expected_less_has_left_the_call() -> None:
    found = examine(_left([9, 5, 9], gone=[1])).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD214", (1,), 3)


@pytest.mark.parametrize(("sizes", "gone"), [([9, 9, 9], [1]), ([9, 5, 9], [0]), ([9, 5, 9], [0, 1])])
def test_leaving_a_call_is_no_sign_if_others_gave_the_same(sizes: Sequence[int], gone: Sequence[int]) -> None:
    assert "DD214" not in [diagnosis.code for diagnosis in examine(_left(sizes, gone)).diagnoses]
