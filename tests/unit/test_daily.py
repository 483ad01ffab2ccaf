"""The table of the jobs that `make test` runs names tests that there are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.e2e.daily import DAILY

ROOT = Path(__file__).resolve().parents[2]


def test_every_name_is_that_of_a_test() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"]
    result = subprocess.run([*command, "tests/e2e"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    there = {line.partition("tests/e2e/")[2] for line in result.stdout.splitlines()}
    there |= {name.partition("[")[0] for name in there}
    assert [
        f"{file}::{name}" for file, names in DAILY.items() for name in names if f"{file}::{name}" not in there
    ] == []
