"""Tensors of different types in one call of all ranks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.evidence import Evidence
from tests.unit.diagnose.builders import At, Doing, job, raised

AT = At()


def _aborted(odd: int, numel: int = 9) -> Evidence:
    lost = raised("RuntimeError", "Connection closed by peer [127.0.0.1]:1", 60.0, AT.line(3))
    ended = 0 if odd else 1
    doing = [
        Doing([AT.all("all_reduce", 3)], exit_status=-6 if r == ended else 1, raised=None if r == ended else lost)
        for r in range(3)
    ]
    evidence = job(doing)
    ranks = []
    for rank in evidence.ranks:
        assert rank.page is not None
        event = rank.page.events[0]
        assert event.call is not None
        given = (numel, "float64") if rank.rank == odd else (9, "float32")
        call = replace(event.call, numel=given[0], dtype=given[1])
        ranks.append(replace(rank, page=replace(rank.page, events=(replace(event, call=call),))))
    return replace(evidence, ranks=tuple(ranks))


@pytest.mark.parametrize("odd", range(3))
def test_who_brings_another_type_and_not_who_dies_of_it(odd: int) -> None:
    found = examine(_aborted(odd)).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD215", (odd,), 3)


def test_other_sizes_too_are_told_as_sizes() -> None:
    codes = [d.code for d in examine(_aborted(1, numel=4)).diagnoses]
    assert codes[0] == "DD214"
    assert "DD215" not in codes
