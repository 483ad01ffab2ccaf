"""`ddpdoctor repro` as a user runs it: the verdict is shown and compared, and Ctrl-C leaves no process running."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from ddpdoctor.repro import catalogue

REPRO = [sys.executable, "-m", "ddpdoctor", "repro"]
#: seconds after which what does not happen will not: many times what a busy machine needs
PATIENCE = 900.0


def test_a_run_shows_its_verdict_and_passes() -> None:
    done = subprocess.run(
        [*REPRO, "run", "rank-finished-early", "--json"], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    (result,) = json.loads(done.stdout)
    assert _is_right(result), done.stderr
    assert result["report"]["diagnoses"][0]["code"] == "DD252"
    assert "ddpdoctor: HANG - " in done.stderr
    assert (done.returncode == 0) == result["passed"] == ("WRONG" not in done.stderr)


def _is_right(result: dict[str, Any]) -> bool:
    """All is as expected, but for the time that it took: a busy machine may be late."""
    return all(check["passed"] for check in result["checks"] if check["what"] != "time")


def test_a_harm_is_shown_with_the_programs_own_numbers_and_the_line_that_lint_finds() -> None:
    done = subprocess.run(
        [*REPRO, "run", "every-rank-all-data", "--json"], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)
    assert result["passed"]
    assert result["report"] is None
    assert [finding["code"] for finding in result["findings"]] == ["DD103"]
    assert "ddpdoctor: the program says: epoch 1: visits of each sample: 2" in done.stderr
    assert "DD103 missing-distributed-sampler" in done.stderr
    assert "ddpdoctor watch" not in done.stderr


def test_ctrl_c_ends_the_job_and_leaves_no_process() -> None:
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    run = subprocess.Popen(
        [*REPRO, "run", "stopped-process"],
        stderr=subprocess.DEVNULL,
        env={**os.environ, "_DDPDOCTOR_TEST_MARK": mark},
        start_new_session=True,
    )
    try:
        _until(lambda: sum(_is_rank(process) for process in _marked(mark)) >= 3)
        run.send_signal(signal.SIGINT)
        assert run.wait(PATIENCE) == 130
        assert list(_marked(mark)) == []
    finally:
        for left in [*_marked(mark)]:
            left.kill()
        run.wait()


def _is_rank(process: psutil.Process) -> bool:
    try:
        return "RANK" in process.environ()
    except psutil.Error:
        return False


def _marked(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("_DDPDOCTOR_TEST_MARK") == mark and process.pid != os.getpid():
                found.append(process)
        except psutil.Error:
            continue
    return found


def _until(condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.2)


def test_a_machine_without_a_gpu_says_so_in_one_line() -> None:
    done = subprocess.run(
        [*REPRO, "run", "uneven-inputs", "--backend", "nccl"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 2
    assert done.stderr.startswith("ddpdoctor: error: uneven-inputs cannot run on NCCL here: ")
    assert len(done.stderr.splitlines()) == 1
    assert "without --backend it runs on gloo and the CPU" in done.stderr


def test_a_package_that_is_missing_is_named_in_one_line(tmp_path: Path) -> None:
    shutil.copytree(catalogue.root() / "rank-died", tmp_path / "rank-died")
    with (tmp_path / "rank-died" / "fixture.toml").open("a") as stream:
        stream.write('packages = ["no_such_package"]\n')
    program = f"""
import sys
from pathlib import Path
from ddpdoctor.cli import main
from ddpdoctor.repro import catalogue
catalogue.root = lambda: Path({str(tmp_path)!r})
sys.exit(main.main(sys.argv[1:]))
"""

    def said(*argv: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", program, "repro", *argv]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)

    run, listed, shown = said("run", "rank-died"), said("list"), said("show", "rank-died")
    assert (run.returncode, len(run.stderr.splitlines())) == (2, 1)
    assert "rank-died needs no_such_package, which is not installed" in run.stderr
    assert "ddpdoctor[frameworks]" in run.stderr
    assert listed.stdout.endswith(" (needs no_such_package)\n")
    assert "rank-died needs no_such_package, and runs on gloo and nccl" in shown.stderr
    every = said("all")
    assert every.returncode == 0
    assert "0 as expected, 0 not, 2 skipped" in every.stderr


def test_a_case_for_the_cpu_is_not_run_on_nccl() -> None:
    done = subprocess.run(
        [*REPRO, "run", "transport-stall", "--backend", "nccl"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "transport-stall does not run on NCCL: It drops the packets" in done.stderr


def test_other_numbers_of_ranks_have_their_own_culprits() -> None:
    done = subprocess.run(
        [*REPRO, "run", "uneven-inputs", "--ranks", "2", "--json"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    (result,) = json.loads(done.stdout)
    assert _is_right(result), done.stderr
    found = {check["what"]: check["found"] for check in result["checks"]}
    assert (result["ranks"], found["culprits"]) == (2, "1")


def test_all_runs_every_case_and_gives_one_json_text(tmp_path: Path) -> None:
    """With a catalogue of two: one that runs here, one that needs a GPU."""
    folder = tmp_path / "fixtures"
    for name in ("rank-died", "wrong-device"):
        shutil.copytree(catalogue.root() / name, folder / name)
    program = f"""
import sys
from pathlib import Path
from typing import Any
from ddpdoctor.cli import main
from ddpdoctor.repro import catalogue
catalogue.root = lambda: Path({str(folder)!r})
sys.exit(main.main(["repro", "all", "--jobs", "2", "--json"]))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    results = json.loads(done.stdout)
    found = {(result["name"], result["program"]): result for result in results}
    assert len(found) == len(results) == 4
    assert _is_right(found["rank-died", "broken.py"]), done.stderr
    assert found["rank-died", "broken.py"]["report"]["diagnoses"][0]["code"] == "DD251"
    assert found["rank-died", "fixed.py"]["passed"]
    if not Path("/dev/nvidia0").exists():
        assert {result["skipped"] for key, result in found.items() if key[0] == "wrong-device"} == {"needs a GPU"}
        assert "2 as expected, 0 not, 2 skipped" in done.stderr
