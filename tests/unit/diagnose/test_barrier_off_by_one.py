"""A barrier that one rank leaves out, noticed elsewhere."""

from __future__ import annotations

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence
from tests.unit.diagnose.builders import At, Doing, job

AT = At()
PROGRAM = """\
def prepare(path, rank):
    if missing(path):
        build(path)
        dist.barrier()
    read(path)
    dist.barrier()
    dist.all_reduce(total)
"""
CODE = {AT.file: PROGRAM}
FIRST, SECOND = AT.all("barrier", 4), AT.all("barrier", 6)


@pytest.mark.parametrize("odd", range(3))
def test_the_rank_that_left_it_out_and_not_those_that_wait(odd: int) -> None:
    came, passed = Doing([FIRST, SECOND]), Doing([SECOND, AT.all("all_reduce", 7)])
    report = examine(job([passed if rank == odd else came for rank in range(3)], code=CODE))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD212", (odd,), 4)
    assert found.confidence is Confidence.LIKELY


def test_one_rank_with_a_barrier_more() -> None:
    came, passed = Doing([FIRST, SECOND]), Doing([SECOND, AT.all("all_reduce", 7)])
    found = examine(job([passed, passed, came, passed], code=CODE)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD212", (2,))


def test_under_a_condition_on_the_rank_it_is_that() -> None:
    code = {AT.file: PROGRAM.replace("missing(path)", "rank == 0")}
    came, passed = Doing([FIRST, SECOND]), Doing([SECOND, AT.all("all_reduce", 7)])
    found = examine(job([came, passed, passed], code=code)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD203", (0,))
