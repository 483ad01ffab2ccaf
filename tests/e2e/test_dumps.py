"""Dumps of real jobs: torch's own recorder on gloo, as pickle with frames and as JSON without."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.dumps.wire import Writer
from tests.e2e.sharing import once

PROGRAM = Path(__file__).parent / "programs" / "dumping.py"
SECONDS = 300


@pytest.fixture(scope="module", params=["missing", "mismatch", "skipped"])
def left(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """(what went wrong, where the dumps are) of a job of three ranks."""

    def leave(folder: Path) -> None:
        command = [sys.executable, str(PROGRAM), request.param, "3", str(folder)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run(command, check=True, timeout=SECONDS, env=environment, capture_output=True)

    return str(request.param), once(tmp_path_factory, f"dumps-{request.param}", leave)


def diagnose(*arguments: str) -> str:
    command = [sys.executable, "-m", "ddpdoctor", "diagnose", *arguments]
    done = subprocess.run(command, check=False, timeout=SECONDS, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    return done.stdout


WANTED = {
    "missing": ("DD299", [2], "rank 2 never reached all_reduce"),
    "mismatch": ("DD213", [1], "rank 1 issues all_gather"),
    "skipped": ("DD299", [1], "rank 1 left out all_reduce at dumping.py:"),
}


def test_frames_and_all(left: tuple[str, Path]) -> None:
    scenario, folder = left
    report = json.loads(diagnose("--json", "-", str(folder / "pickle")))
    first = report["diagnoses"][0]
    assert (first["code"], first["culprits"]) == WANTED[scenario][:2]
    assert WANTED[scenario][2] in first["summary"]
    assert first["locations"][0]["file"] == str(PROGRAM)
    assert report["outcome"] == "hang"
    assert report["deadlock"] == "suspected"


def test_without_frames(left: tuple[str, Path]) -> None:
    """JSON has no call sites: the skipped operation is not known, the rank that is one behind is."""
    scenario, folder = left
    first = json.loads(diagnose("--json", "-", str(folder / "json")))["diagnoses"][0]
    assert (first["code"], first["culprits"]) == WANTED[scenario][:2]


def test_the_synthetic_dumps_are_written_as_torch_writes_them(left: tuple[str, Path]) -> None:
    """Byte for byte: a real dump that is read and written again is the same file."""
    for path in sorted((left[1] / "pickle").iterdir()):
        dump = pickle.loads(path.read_bytes())
        entries = dump.pop("entries")
        assert Writer().dump(dump, list(enumerate(entries))) == path.read_bytes()


def test_the_matrix_is_right_for_gloo(left: tuple[str, Path]) -> None:
    """torch's own analyzer ends with a KeyError on these."""
    scenario, folder = left
    text = diagnose("--matrix", str(folder / "pickle"))
    rows = [line.split() for line in text.splitlines() if line.startswith("  default ")]
    done = [row for row in rows if row[-1] == "done"]
    assert done
    if scenario == "missing":
        assert rows[-1][-2:] == ["in", "-"]  # ranks 0-1, and rank 2
    assert {cell for row in rows for cell in row} & {"in", "in:"}
