"""A real job without `watch`: the evidence that it and other tools leave identifies the missing rank."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from ddpdoctor.collect import pyspy
from tests.e2e.job import STARTUP, torchrun
from tests.e2e.sharing import once

PROGRAM = Path(__file__).parent / "programs" / "one_stays_away.py"
RANKS = 3
#: seconds that gloo waits: py-spy must have looked at all ranks by then, also on a very busy machine
GIVES_UP = 45.0


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the launcher's log, each rank's own log, and py-spy's stacks as text and as JSON."""
    return once(tmp_path_factory, "left-behind", _leave)


def _leave(folder: Path) -> None:
    logs = ["--log-dir", str(folder / "ranks"), "--tee", "3"]
    command = torchrun(PROGRAM, RANKS, str(GIVES_UP))
    command[1:1] = logs
    with (folder / "job.log").open("wb") as log:
        job = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        _wait_for(folder / "ranks", "step 2", RANKS)
        with ThreadPoolExecutor(RANKS) as at_once:
            list(at_once.map(lambda worker: _look(worker.pid, folder), psutil.Process(job.pid).children()))
        job.wait(timeout=STARTUP + GIVES_UP)
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()


def _wait_for(logs: Path, words: str, times: int) -> None:
    """Each rank's own log has the words; what the launcher passes on comes later on a busy machine."""
    until = time.monotonic() + STARTUP
    while sum(words in log.read_text(errors="replace") for log in logs.rglob("stdout.log")) < times:
        assert time.monotonic() < until, "the job did not get so far"
        time.sleep(0.2)


def _look(pid: int, folder: Path) -> None:
    program = pyspy.find()
    assert program is not None
    for name, options in (("text", []), ("json", ["--json"])):
        taken = b""
        # it has said that it is past its steps, and is on its way to where it stays
        while not (b"evaluate" in taken or b"all_reduce" in taken):
            taken = _stacks([program, "dump", *options, "--pid", str(pid)])
        (folder / name).mkdir(exist_ok=True)
        (folder / name / f"stack.{pid}").write_bytes(taken)


def _stacks(command: list[str]) -> bytes:
    return subprocess.run(command, capture_output=True, check=True, timeout=STARTUP).stdout


def _diagnose(*paths: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "ddpdoctor", "diagnose", "-f", "json", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=STARTUP, check=False)
    assert done.returncode == 1, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.parametrize("parts", [("job.log",), ("ranks",), ("text",), ("json",), ("job.log", "text"), (".",)])
def test_every_part_names_the_rank_that_stayed_away(left: Path, parts: tuple[str, ...]) -> None:
    report = _diagnose(*(left / part for part in parts))
    assert report["outcome"] == "hang"
    assert report["diagnoses"][0]["culprits"] == [1], report["diagnoses"]
    assert all(diagnosis["confidence"] != "certain" for diagnosis in report["diagnoses"])


def test_the_stack_shows_the_line_where_it_stays(left: Path) -> None:
    (place, *_) = _diagnose(left / "job.log", left / "text")["diagnoses"][0]["locations"]
    assert (Path(place["file"]).name, place["function"]) == ("one_stays_away.py", "evaluate")
    assert "sleep" in place["source"]


def test_the_launchers_root_cause_is_not_believed(left: Path) -> None:
    assert "Root Cause" in (left / "job.log").read_text(errors="replace")
    assert any("a wait timed out" in note for note in _diagnose(left / "job.log")["notes"])
