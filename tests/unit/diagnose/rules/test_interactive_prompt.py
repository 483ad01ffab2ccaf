"""Ranks that wait for user input."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
from tests.unit.diagnose.builders import At, Doing, job

AT = At()
PYTHON = "/usr/lib/python3.11"


def _job(inner: tuple[Site, ...], line: str, **how: float) -> Evidence:
    code = {AT.file: f"def train():\n    {line}\n    loss.backward()\n"}
    asked = Doing([AT.forward(1)], blocked=False, stands=AT.line(2), **how)  # type: ignore[arg-type]
    evidence = job([Doing([AT.forward(1), AT.backward(3)]), asked], code=code)
    rank = evidence.ranks[1]
    stacks = Stacks(StackSource.PYSPY, (Thread(rank.worker.pid, "MainThread", (*inner, AT.line(2))),))
    return replace(evidence, ranks=(evidence.ranks[0], replace(rank, stacks=stacks)))


@pytest.mark.parametrize(
    "inner",
    [
        (Site(f"{PYTHON}/cmd.py", 126, "Cmd.cmdloop"), Site(f"{PYTHON}/pdb.py", 397, "Pdb._cmdloop")),
        (Site("/env/lib/python3.11/site-packages/debugpy/server/api.py", 200, "wait_for_client"),),
        (Site(f"{PYTHON}/getpass.py", 77, "unix_getpass"),),
    ],
)
def test_a_debugger_or_a_password(inner: tuple[Site, ...]) -> None:
    found = examine(_job(inner, "look()")).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD241", (1,), 2)


def test_input_in_the_users_line() -> None:
    found = examine(_job((), 'answer = input("overwrite?")')).diagnoses[0]
    assert (found.code, found.confidence.value) == ("DD241", "likely")


@pytest.mark.parametrize(
    "line", ["answer = get_input(x)", "rows = table.read()", "t = form.input(x)", "log('input() is next')"]
)
def test_other_lines_are_no_prompt(line: str) -> None:
    assert "DD241" not in [d.code for d in examine(_job((), line)).diagnoses]


def test_a_rank_that_computes_is_not_asked() -> None:
    report = examine(_job((), "y = model(input())", cpu_share=1.0))
    assert "DD241" not in [d.code for d in report.diagnoses]
