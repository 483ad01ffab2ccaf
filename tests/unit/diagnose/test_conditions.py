"""The search for a condition on the rank around a line, whatever form the condition has."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.conditions import rank_condition
from ddpdoctor.diagnose.facts import digest
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.stacks import Site
from tests.unit.diagnose.builders import At, Doing, job


@pytest.mark.parametrize(
    "line",
    [
        "later(lambda: dist.broadcast(x, 0))",
        "dist.broadcast(x, 0) if ready else None",
        "found = [dist.broadcast(x, 0) for _ in range(2)]",
    ],
)
def test_expressions_that_hold_a_call_are_no_bodies(line: str) -> None:
    code = {"/a.py": SourceFile("/a.py", f"def f(rank, x):\n    if rank == 0:\n        {line}\n")}
    evidence = replace(job([Doing([At().all("barrier", 1)])] * 2), code=code)
    found = rank_condition(digest(evidence), Site("/a.py", 3, "f"))
    assert found is not None
    assert found.span.first == 2
