"""Failures that hang nobody: the program's own numbers show the harm on real ranks, and that the cure takes it away."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from ddpdoctor.repro import runner
from ddpdoctor.repro.case import Case
from ddpdoctor.repro.catalogue import load_all, root

CASES = [case for case in load_all(root()) if case.harm and not case.needs]


@pytest.mark.parametrize("fixed", [False, True], ids=["broken", "fixed"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_harm_shows_and_its_cure_takes_it_away(case: Case, fixed: bool, tmp_path: Path) -> None:
    result = runner.run(
        case, ranks=case.ranks, fixed=fixed, folder=tmp_path / "run", stop=threading.Event(), tick=lambda _: None
    )
    printed = (Path(result.folder) / runner.OUTPUT).read_text(errors="replace")
    assert [check for check in result.checks if not check.passed] == [], printed
    assert result.shown, printed


def test_the_harms_that_were_asked_for_have_a_fixture() -> None:
    assert {"DD101", "DD103", "DD110", "DD131", "DD132", "DD133", "DD136"} <= {case.code for case in CASES}
