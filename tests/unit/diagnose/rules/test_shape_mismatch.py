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
