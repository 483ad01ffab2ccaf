"""A rank whose interpreter's lock is held by a call."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.diagnose.engine import examine
from tests.unit.diagnose.builders import NOW, At, Doing, job

AT = At()


def test_the_interpreters_lock() -> None:
    usual = Doing([AT.next(3), AT.forward(4), AT.backward(5)])
    evidence = job([usual, Doing([AT.next(3)], blocked=False, stands=AT.line(9)), usual])
    silent = [
        replace(seen, page=replace(seen.page, heartbeat=NOW - 30.0)) if seen.page and seen.rank == 1 else seen
        for seen in evidence.ranks
    ]
    found = examine(replace(evidence, ranks=tuple(silent))).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD242", (1,))
    assert "30 s" in found.summary
