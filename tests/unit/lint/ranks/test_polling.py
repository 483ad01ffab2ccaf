"""Ranks that wait for a file whose writer waits for them."""

from __future__ import annotations

from ddpdoctor.lint.ranks.polling import stuck
from tests.unit.lint.traces import FIRST, asked, branch, loop, op, unknown_condition, written

ASKED = asked("ready")
POLL = loop(unknown_condition(9, negated=True), ASKED)


def test_the_writer_enters_a_collective_first() -> None:
    barrier, file = op("barrier"), written("ready")
    found = stuck((branch(FIRST, (barrier, file), (POLL, op("barrier"))),))
    assert list(found) == [ASKED.site]
    assert (found[ASKED.site].op, found[ASKED.site].written) == (barrier, file.site)
    assert (found[ASKED.site].waits, found[ASKED.site].writes) == (1, 0)


def test_the_writer_writes_first() -> None:
    assert stuck((branch(FIRST, (written("ready"), op("barrier")), (POLL, op("barrier"))),)) == {}


def test_nobody_waits_for_another_file() -> None:
    assert stuck((branch(FIRST, (op("barrier"), written("other")), (POLL, op("barrier"))),)) == {}


def test_another_rank_may_write_the_file_in_time() -> None:
    waiting = branch((True, False, True, True), (), (POLL,))
    late = branch(FIRST, (op("barrier"), written("ready")))
    in_time = branch((False, False, True, False), (written("ready"),))
    assert stuck((waiting, late)) != {}
    assert stuck((in_time, waiting, late)) == {}


def test_whoever_asks_has_been_in_the_collective_as_well() -> None:
    assert stuck((op("barrier"), branch(FIRST, (written("ready"),), (POLL,)))) == {}
