"""A barrier that one rank skips, noticed elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.stacks import Site
from tests.unit.diagnose.builders import Act, At, Doing, job
from tests.unit.diagnose.verdicts import one_odd, verdict

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


CACHED = """\
@functools.lru_cache
def scale(area):
    dist.barrier()

def main():
    for area in areas:
        scale(area)
        for row in rows:
            model(row).sum().backward()
        dist.barrier()
        dist.all_reduce(total)
"""


def test_its_next_barrier_comes_after_other_work() -> None:
    """Between the barrier that it leaves out and the one that pairs with it the rank trains for itself."""
    main = At(function="main")
    scale, end, local = AT.all("barrier", 3, function="scale"), main.all("barrier", 10), main.backward(9)
    turn = [scale, local, end, main.all("all_reduce", 11)]
    came, passed = Doing([*turn, scale, local, end]), Doing([*turn, *turn[1:]])
    found = verdict(CACHED, one_odd(passed, came, at=2))
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD212", (2,), 3)
    assert "rank 2 only to barrier at train.py:10" in found.why


STARTED = AT.all("init_process_group", 1)


EARLY = """\
@contextlib.contextmanager
def main_first():
    try:
        if not is_main:
            dist.barrier()
        yield
    finally:
        if is_main:
            dist.barrier()


def load():
    with main_first():
        if not path.exists():
            write(path)
            dist.barrier()


load()
dist.all_reduce(x)
is_main = rank == 0
"""


def test_half_of_a_pair_of_barriers_is_not_the_one_too_much() -> None:
    # GIVEN ranks whose half of a pair met another barrier of rank 0, which hangs in the other half
    extra, half = AT.all("barrier", 16, function="load"), AT.all("barrier", 9, function="main_first")
    odd = Doing([STARTED, extra, half], callers=(AT.line(19),))
    usual = Doing([STARTED, AT.all("barrier", 5, function="main_first"), AT.all("all_reduce", 20)])
    found = verdict(EARLY, one_odd(odd, usual, at=0))
    # THEN the barrier between them is named, and no half of the pair for certain
    assert (found.code, found.culprits.members) == ("DD212", (0,))
    assert found.locations[0].line == 16


HELPER = """\
def settle():
    dist.barrier()

def straighten(counter):
    settle()

def main():
    for site in range(3):
        if broken(site):
            straighten(site)
        settle()
    dist.all_reduce(total)
"""


def _settled(*lines: int) -> Act:
    """The helper's barrier, which these lines led to, innermost first."""
    names = {5: "straighten"}
    path = (AT.line(2, "settle"), *(AT.line(line, names.get(line, "main")) for line in lines))
    return replace(AT.all("barrier", 2, function="settle"), path=path)


@pytest.mark.parametrize("odd", range(3))
def test_a_barrier_more_of_a_helper_that_all_barriers_are_made_by(odd: int) -> None:
    """Their line is the same: only who called it tells them apart."""
    usual, more = _settled(11), _settled(5, 10)
    came = Doing([usual, more, usual, usual])
    passed = Doing([usual, usual, usual, AT.all("all_reduce", 12)])
    ranks = [came if rank == odd else passed for rank in range(3)]
    found = examine(job(ranks, code={AT.file: HELPER})).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD212", (odd,), 5)


def test_a_helper_that_ranks_call_from_places_of_their_own_shows_nothing() -> None:
    came = Doing([_settled(11), _settled(11)])
    passed = Doing([_settled(5, 10), AT.all("all_reduce", 12)])
    found = examine(job([came, passed, passed], code={AT.file: HELPER})).diagnoses[0]
    assert found.code != "DD212"


def test_a_helper_makes_its_barrier_before_a_block_or_after_it() -> None:
    """`main_process_first()`: the first process meets the others at the end of the block, these at its head."""
    library = "/env/lib/python3.11/site-packages/accelerate/state.py"

    def turn(line: int) -> Act:
        block = AT.line(4)
        path = (Site(library, 412, "wait_for_everyone"), Site(library, line, "_goes_first"), block, AT.line(9, "main"))
        return replace(AT.all("barrier", 4), path=path)

    last, after = AT.all("barrier", 10, function="main"), AT.all("broadcast_object_list", 11, function="main")
    first = Doing([turn(423)] * 3 + [last])
    others = Doing([turn(418)] * 2 + [last, after])
    found = examine(job([first, others, others])).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD212", (0,), 4)
