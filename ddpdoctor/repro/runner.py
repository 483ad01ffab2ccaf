"""Impure. Runs a fixture's program: under `ddpdoctor watch` for its verdict, or alone for its numbers."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil

from ddpdoctor.lint import engine, registry
from ddpdoctor.lint.settings import Settings
from ddpdoctor.model.codec import DecodeError
from ddpdoctor.model.diagnosis import Deadlock, Outcome
from ddpdoctor.model.finding import Finding
from ddpdoctor.model.report import Report
from ddpdoctor.report import json
from ddpdoctor.repro import expectations
from ddpdoctor.repro.case import Case, Harm
from ddpdoctor.repro.nccl import Nccl

#: seconds that starting may take on a busy machine (every rank imports torch, some start data workers), in addition to
#: the time in the fixture; ten jobs at a time on two cores took a minute and a half for what takes ten seconds alone
_STARTUP = 240.0
#: --stall-after on NCCL, where a rank that waits for its GPU does not prove what it waits for
_NCCL_PATIENCE = 15
#: seconds between looks at the run
_TICK = 0.2
#: seconds that `watch` gets to end the job
_GRACE = 8.0
#: file in a run's folder with the output of `watch` and the job
OUTPUT = "output.log"
_REPORT = "report.json"
#: environment variable of everything that a run starts, to find it when its parents have ended
_MARK = "_DDPDOCTOR_REPRO"


@dataclasses.dataclass(frozen=True, slots=True)
class RunResult:
    """One run of one program of a fixture."""

    name: str
    code: str
    program: str
    ranks: int
    checks: tuple[expectations.Check, ...]
    #: duration of the whole run in seconds
    seconds: float
    #: what `watch` wrote, None if it wrote nothing or was not used
    report: Report | None = None
    #: of a program that does harm: its own lines that show it, and what lint finds in it
    shown: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    #: why it was not run, "" if it was
    skipped: str = ""
    #: folder with the output of `watch` and the job, the report and the bundle; "" if it was not run
    folder: str = ""

    @property
    def passed(self) -> bool:
        return not self.skipped and all(check.passed for check in self.checks)


def missing(case: Case) -> str:
    """What this machine lacks for a case, "" if nothing."""
    if lacking := missing_packages(case):
        return lacking
    if case.needs == "gpu" and not Path("/dev/nvidia0").exists():
        return "needs a GPU"
    return "needs several nodes" if case.needs == "multi-node" else ""


def missing_packages(case: Case) -> str:
    """Which packages a case imports that are not installed, "" if none."""
    absent = [package for package in case.packages if importlib.util.find_spec(package) is None]
    verb = "is" if len(absent) == 1 else "are"
    return f"needs {' and '.join(absent)}, which {verb} not installed" if absent else ""


@dataclasses.dataclass(frozen=True, slots=True)
class CaseProgram:
    """One of the two programs of a case, and how to run it."""

    case: Case
    ranks: int
    fixed: bool
    #: what the machine has if it is to run on NCCL; None for the CPU
    nccl: Nccl | None = None

    @property
    def path(self) -> Path:
        return self.case.fixed if self.fixed else self.case.broken


def skipped(program: CaseProgram, why: str) -> RunResult:
    """The result for a program that was not run."""
    return _result(program, skipped=why)


def _result(program: CaseProgram, *, report: Report | None = None, folder: str = "", skipped: str = "") -> RunResult:
    case = program.case
    return RunResult(
        case.name, case.code, program.path.name, program.ranks, (), 0.0, report, folder=folder, skipped=skipped
    )


def run(program: CaseProgram, folder: Path, *, stop: threading.Event, tick: Callable[[float], None]) -> RunResult:
    """Run one program to its end or its verdict; if `stop` is set, the job is ended first.

    Everything it writes is in `folder`, which is created: OUTPUT, report.json and the bundle. `tick` is called often,
    with the seconds since the start. Nothing of the job is left running.
    """
    case, nccl = program.case, program.nccl
    if lacking := missing(case):
        return skipped(program, lacking)
    folder.mkdir(parents=True)
    began = time.monotonic()
    plain = [*launch_command(case.launcher, program.path, program.ranks), *backend_arguments(case, nccl)]
    command = plain if case.harm else [*_watch_command(case, folder, nccl), *plain]
    with started(command, folder / OUTPUT, nccl.environment(program.ranks) if nccl else {}) as process:
        for _ in _until_decided(process, program, folder, stop):
            tick(time.monotonic() - began)
        report, status = report_in(folder), process.poll()
    result = _checked(_result(program, report=report, folder=str(folder)), program, status)
    return dataclasses.replace(result, seconds=time.monotonic() - began)


def _checked(result: RunResult, program: CaseProgram, status: int | None) -> RunResult:
    """The result compared with what was expected. `status` is the exit status, None if we ended the run."""
    case, report = program.case, result.report
    if case.harm:
        return _with_numbers(result, program, case.harm, status)
    if program.fixed:
        return dataclasses.replace(result, checks=expectations.of_fixed(report, status))
    left_out = case.nccl_differs if program.nccl and "gloo" in case.backends else ()
    checks = expectations.of_broken(case, program.ranks, report, status, but=left_out)
    return dataclasses.replace(result, checks=checks)


def _with_numbers(result: RunResult, program: CaseProgram, harm: Harm, status: int | None) -> RunResult:
    """The result with what the program printed, and what lint finds in it."""
    output = (Path(result.folder) / OUTPUT).read_text(encoding="utf-8", errors="replace")
    findings = engine.lint([str(program.path)], Settings(registry.defaults(), hints=frozenset())).findings
    codes = frozenset(finding.code for finding in findings)
    plain = expectations.PlainRun(program.ranks, program.fixed, output, status, codes)
    return dataclasses.replace(
        result,
        checks=expectations.of_harm(program.case, harm, plain),
        shown=tuple(line for line in output.splitlines() if f"{harm.measure}: " in line),
        findings=findings,
    )


def report_in(folder: Path) -> Report | None:
    """The report of a run in this folder, None while there is none."""
    try:
        return json.read((folder / _REPORT).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, DecodeError):
        return None


def launch_command(launcher: str, program: Path, ranks: int) -> list[str]:
    """The command with which a user would start this program on `ranks` processes of this machine."""
    here = Path(sys.executable).parent
    if launcher == "torchrun" and (here / "torchrun").exists():
        return [str(here / "torchrun"), "--standalone", "--nproc-per-node", str(ranks), str(program)]
    if launcher in ("torchrun", "torch.distributed.run"):
        module = [sys.executable, "-m", "torch.distributed.run"]
        return [*module, "--standalone", "--nproc-per-node", str(ranks), str(program)]
    if launcher == "accelerate":
        # with --cpu it starts one process; the program itself asks for the CPU
        several = ["--multi_gpu", "--num_machines", "1", "--num_processes", str(ranks), "--main_process_port", "0"]
        return [str(here / "accelerate"), "launch", *several, str(program)]
    if launcher == "python":
        # the program starts its ranks itself, through its framework
        return [sys.executable, str(program), "--workers", str(ranks)]
    return [sys.executable, str(program)]


def backend_arguments(case: Case, nccl: Nccl | None) -> list[str]:
    """Arguments that make a program with several backends use NCCL."""
    return ["--backend", "nccl"] if nccl and "gloo" in case.backends else []


def _watch_command(case: Case, folder: Path, nccl: Nccl | None) -> list[str]:
    """`watch` and its options, including the `--`."""
    seconds = case.stall_after if case.stall_after is not None or nccl is None else _NCCL_PATIENCE
    patience = ["--stall-after", str(seconds)] if seconds is not None else []
    return [
        *(sys.executable, "-m", "ddpdoctor", "watch", "--on-hang", "stop", *patience),
        *("--json", str(folder / _REPORT), "--bundle", str(folder / "bundle"), "--"),
    ]


@contextlib.contextmanager
def started(command: list[str], output: Path, added: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """The run in a session of its own, so that Ctrl-C reaches it once, through us; nothing of it is left running."""
    mark = uuid.uuid4().hex
    environ = {"OMP_NUM_THREADS": "1", **os.environ, **added, _MARK: mark}
    with output.open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environ, start_new_session=True
        )
        try:
            yield process
        finally:
            _end(process, mark)


def _until_decided(
    process: subprocess.Popen[bytes], program: CaseProgram, folder: Path, stop: threading.Event
) -> Iterator[None]:
    """Wait until the run ends or takes too long, or until it is reported as expected without a proof: a slow job would
    continue by itself, and a suspected hang is stopped by `watch` only after a second look."""
    deadline = time.monotonic() + program.case.seconds + _STARTUP
    while process.poll() is None and time.monotonic() < deadline and not stop.is_set():
        if program.case.outcome in (Outcome.SLOW, Outcome.HANG) and not program.fixed:
            report = report_in(folder)
            if report and report.outcome is program.case.outcome and report.deadlock is not Deadlock.PROVEN:
                return
        yield
        time.sleep(_TICK)


def _end(process: subprocess.Popen[bytes], mark: str) -> None:
    """Ask `watch` to end the job, then make sure: torchrun's workers are in sessions of their own."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
    for survivor in _marked(mark):
        with contextlib.suppress(psutil.Error):
            survivor.kill()
    process.wait()


def _marked(mark: str) -> Iterator[psutil.Process]:
    """Live processes of a run, whatever their parents are."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(_MARK) == mark:
                yield process
