"""Silent harm: the program's own numbers show it on real ranks, and that the fixed version removes it."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from ddpdoctor.lint import engine, registry
from ddpdoctor.lint.settings import Settings
from ddpdoctor.repro import expectations, runner
from ddpdoctor.repro.case import Case
from ddpdoctor.repro.catalogue import load_all, root
from tests.e2e.job import STARTUP, forked

CASES = [case for case in load_all(root()) if case.harm and not case.needs]
both = pytest.mark.parametrize("fixed", [False, True], ids=["broken", "fixed"])
by_name = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@both
@by_name
def test_harm_shows_and_its_cure_takes_it_away(case: Case, fixed: bool) -> None:
    assert case.harm is not None
    program = case.fixed if fixed else case.broken
    done = subprocess.run(
        forked(program, case.ranks),
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=STARTUP + case.seconds,
        check=False,
    )
    found = engine.lint([str(program)], Settings(registry.defaults(), hints=frozenset())).findings
    codes = frozenset(finding.code for finding in found)
    run = expectations.PlainRun(case.ranks, fixed, done.stdout, done.returncode, codes)
    checks = expectations.of_harm(case, case.harm, run)
    assert [check for check in checks if not check.passed] == [], done.stdout


@both
@by_name
def test_harm_shows_under_torchrun(case: Case, fixed: bool, tmp_path: Path) -> None:
    program = runner.CaseProgram(case, case.ranks, fixed)
    result = runner.run(program, tmp_path / "run", stop=threading.Event(), tick=lambda _: None)
    printed = (Path(result.folder) / runner.OUTPUT).read_text(errors="replace")
    assert [check for check in result.checks if not check.passed] == [], printed
    assert result.shown, printed


def test_the_harms_that_were_asked_for_have_a_fixture() -> None:
    assert {"DD101", "DD103", "DD110", "DD131", "DD132", "DD133", "DD136"} <= {case.code for case in CASES}
