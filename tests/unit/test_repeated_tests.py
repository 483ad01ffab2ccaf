"""Repeated tests: what is read of pytest's results, and what is told of them."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

from benchmarks import measured, repeated_tests
from benchmarks.repeated_tests import FOLDERS, Repetition

WELL = Repetition(0, 480, (), 300.0, 1, 8.5, measured.engine(), "abc123")
TESTS = """\
import pytest

def test_holds():
    assert True

def test_fails():
    assert False

@pytest.fixture
def broken():
    raise OSError

def test_breaks(broken):
    pass

def test_is_skipped():
    pytest.skip()
"""


def test_failures_errors_and_skipped_tests_are_told_apart_in_real_results_of_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "--junitxml=results.xml", "-p", "no:cacheprovider", "test_some.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 1, done.stdout
    passed, failed = repeated_tests.outcomes((tmp_path / "results.xml").read_text(encoding="utf-8"))
    assert (passed, set(failed)) == (1, {"test_some::test_fails", "test_some::test_breaks"})


def test_a_test_that_fails_now_and_then_is_named_with_how_often() -> None:
    now = dataclasses.replace(WELL, number=1, failed=("tests.e2e.test_dump::test_a",))
    told = repeated_tests.summary([WELL, now])
    assert told.splitlines() == [
        "2 repetitions, 2 beside busy processes; tests that failed: 1",
        "  tests.e2e.test_dump::test_a: 1 of 2",
    ]
    assert now.is_miss
    assert not WELL.is_miss


def test_results_are_read_again(tmp_path: Path) -> None:
    file = tmp_path / "repeated.jsonl"
    now = dataclasses.replace(WELL, number=1, failed=("tests.e2e.test_dump::test_a",))
    for one in (WELL, now):
        repeated_tests.results(file).add(one)
    assert repeated_tests.results(file).results == [WELL, now]


def test_the_folders_exist() -> None:
    assert all((measured.ROOT / folder).is_dir() for folder in FOLDERS)
