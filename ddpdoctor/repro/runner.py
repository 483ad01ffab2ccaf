"""Impure. Runs a fixture's program for real, under `ddpdoctor watch`, and reads the verdict."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from ddpdoctor.model.codec import DecodeError
from ddpdoctor.model.diagnosis import Outcome
from ddpdoctor.model.report import Report
from ddpdoctor.report import json
from ddpdoctor.repro import verdict
from ddpdoctor.repro.case import Case

#: seconds that importing torch may take on a busy machine, on top of what the fixture asks for
_STARTUP = 60.0
#: seconds between looks at the run
_TICK = 0.2
#: seconds that watch gets to end the job when asked
_GRACE = 8.0
#: in the environment of everything that a run starts, to find it again when its parents are gone
_MARK = "DDPDOCTOR_REPRO"


@dataclass(frozen=True, slots=True)
class Result:
    """One run of one program of a fixture."""

    name: str
    code: str
    program: str
    ranks: int
    checks: tuple[verdict.Check, ...]
    #: seconds that the whole run took
    seconds: float
    #: why it was not run, "" if it was
    skipped: str = ""
    #: what watch and the job printed, "" where it went to the terminal
    log: str = ""

    @property
    def passed(self) -> bool:
        return not self.skipped and all(check.passed for check in self.checks)


def missing(case: Case) -> str:
    """What this machine lacks for a case, "" if nothing."""
    if case.needs == "gpu" and not Path("/dev/nvidia0").exists():
        return "needs a GPU"
    return "needs several nodes" if case.needs == "multi-node" else ""


def run(case: Case, *, ranks: int, fixed: bool, log: Path | None, stop: threading.Event) -> Result:
    """Run one program to its end or its verdict; when `stop` is set the job is ended first.

    Its output goes to `log`, or to our stderr. Nothing of the job is left running, whatever happens.
    """
    program = case.fixed if fixed else case.broken
    lacking = missing(case)
    if lacking:
        return Result(case.name, case.code, program.name, ranks, (), 0.0, skipped=lacking)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ddpdoctor-repro-") as scratch:
        written = Path(scratch) / "report.json"
        command = _watch_command(case, program, ranks, written, Path(scratch) / "bundle")
        with _started(command, log) as process:
            report, status = _follow(process, written, case, fixed, began, stop)
    checks = verdict.of_fixed(report, status) if fixed else verdict.of_broken(case, ranks, report, status)
    seconds = time.monotonic() - began
    return Result(case.name, case.code, program.name, ranks, checks, seconds, log=str(log or ""))


def launch_command(launcher: str, program: Path, ranks: int) -> list[str]:
    """How a person would start this program on `ranks` processes of this machine."""
    here = Path(sys.executable).parent
    if launcher == "torchrun" and (here / "torchrun").exists():
        return [str(here / "torchrun"), "--standalone", "--nproc-per-node", str(ranks), str(program)]
    if launcher in ("torchrun", "torch.distributed.run"):
        module = [sys.executable, "-m", "torch.distributed.run"]
        return [*module, "--standalone", "--nproc-per-node", str(ranks), str(program)]
    if launcher == "accelerate":
        return [str(here / "accelerate"), "launch", "--cpu", "--num_processes", str(ranks), str(program)]
    return [sys.executable, str(program)]


def _watch_command(case: Case, program: Path, ranks: int, report: Path, bundle: Path) -> list[str]:
    patience = ["--stall-after", str(case.stall_after)] if case.stall_after is not None else []
    return [
        *(sys.executable, "-m", "ddpdoctor", "watch", "--on-hang", "stop", "--json", str(report)),
        *("--bundle", str(bundle), *patience, "--", *launch_command(case.launcher, program, ranks)),
    ]


@contextlib.contextmanager
def _started(command: list[str], log: Path | None) -> Iterator[subprocess.Popen[bytes]]:
    """The run in a session of its own, so that a Ctrl-C reaches it through us and once; nothing of it survives."""
    mark = uuid.uuid4().hex
    environ = {"OMP_NUM_THREADS": "1", **os.environ, _MARK: mark}
    with contextlib.ExitStack() as stack:
        output = stack.enter_context(log.open("wb")) if log else sys.stderr
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environ, start_new_session=True
        )
        try:
            yield process
        finally:
            _end(process, mark)


def _follow(
    process: subprocess.Popen[bytes], written: Path, case: Case, fixed: bool, began: float, stop: threading.Event
) -> tuple[Report | None, int | None]:
    """Wait for the end; a job that is only slow goes on by itself and is ended as soon as watch has said so.

    The status is None where the job was ended by us: in time, or because it took too long.
    """
    deadline = began + case.seconds + _STARTUP
    while process.poll() is None and time.monotonic() < deadline and not stop.is_set():
        if case.outcome is Outcome.SLOW and not fixed:
            report = _read(written)
            if report is not None and report.outcome is Outcome.SLOW:
                return report, None
        time.sleep(_TICK)
    return _read(written), process.poll()


def _read(path: Path) -> Report | None:
    """The report, None while there is none."""
    try:
        return json.read(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, DecodeError):
        return None


def _end(process: subprocess.Popen[bytes], mark: str) -> None:
    """Ask watch to end the job, then make sure: torchrun's workers are in sessions of their own."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
    for survivor in _marked(mark):
        with contextlib.suppress(psutil.Error):
            survivor.kill()
    process.wait()


def _marked(mark: str) -> Iterator[psutil.Process]:
    """Living processes of a run, whoever is their parent by now."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(_MARK) == mark:
                yield process
