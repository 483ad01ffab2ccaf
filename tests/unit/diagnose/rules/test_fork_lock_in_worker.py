"""Data workers that wait for a lock which was held when they were forked."""

from __future__ import annotations

from ddpdoctor.diagnose.engine import examine
from tests.unit.diagnose.builders import At
from tests.unit.diagnose.data_workers import fetching, worker

AT = At()


def test_a_worker_in_a_lock() -> None:
    found = examine(fetching(worker(AT.line(41, "__getitem__"), wchan="futex_do_wait"))).diagnoses[0]
    assert (found.code, found.locations[0].line) == ("DD235", 41)
