"""Run a real job under `ddpdoctor watch`, keep every report that it writes, and leave nothing running."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

#: seconds after which a job has not started and will not: many times what Python, torch and the rendezvous need
STARTUP = 900.0
#: in the environment of all that a run starts: torchrun's workers are sessions of their own, so parents do not tell
MARK = "_DDPDOCTOR_TEST_JOB"
_FORKING = Path(__file__).parent / "programs" / "forking_launcher.py"

Report = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """What came of one watched job. `status` is None where it had to be ended from here."""

    status: int | None
    #: every distinct report that --json held at some time, oldest first
    reports: tuple[Report, ...]
    stdout: str
    stderr: str
    #: seconds from start to end
    seconds: float
    bundle: Path
    command: tuple[str, ...] = field(default=())

    @property
    def report(self) -> Report:
        """The last report; fails the test with watch's output if there is none."""
        assert self.reports, f"no report was written; status {self.status}, stderr:\n{self.stderr[-4000:]}"
        return self.reports[-1]

    @property
    def first(self) -> Report:
        """The first diagnosis of the last report."""
        diagnoses: list[Report] = self.report["diagnoses"]
        assert diagnoses, f"no diagnosis; {self.explain()}"
        return diagnoses[0]

    def explain(self) -> str:
        """The gist of the run for an assertion message."""
        told = [
            f"{d['code']} {d['confidence']} culprits {d['culprits']} {[(x['file'], x['line']) for x in d['locations']]}"
            for report in self.reports[-1:]
            for d in report["diagnoses"]
        ]
        heads = [(r["outcome"], r["deadlock"], r["timeline"]) for r in self.reports]
        return f"bundle {self.bundle}; status {self.status}; reports {heads}; diagnoses {told}\n{self.stderr[-3000:]}"


def torchrun(program: Path, ranks: int, *arguments: str, options: Sequence[str] = ()) -> list[str]:
    """The command line that starts a program on `ranks` processes with its own free port; `options` are torchrun's."""
    launcher = Path(sys.executable).with_name("torchrun")
    return [str(launcher), "--standalone", "--nproc-per-node", str(ranks), *options, str(program), *arguments]


def forked(program: Path, ranks: int, *arguments: str) -> list[str]:
    """The same with a launcher that imports torch once for all ranks: a third of the work, where any will do."""
    return [sys.executable, str(_FORKING), str(ranks), str(program), *arguments]


def watch(
    command: Sequence[str],
    folder: Path,
    *options: str,
    timeout: float,
    until: Callable[[Report], bool] = lambda report: False,
    stop: threading.Event | None = None,
) -> Run:
    """Start `ddpdoctor watch OPTIONS -- COMMAND`; follow it to its end, to `until`, `stop`, or the time limit.

    `folder` takes the output, the reports and the bundle; they stay there for whoever looks into a failure.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written, bundle, mark = folder / "report.json", folder / "bundle", uuid.uuid4().hex
    own = [sys.executable, "-m", "ddpdoctor", "watch", "--json", str(written), "--bundle", str(bundle)]
    whole = [*own, *options, "--", *command]
    environ = {**os.environ, "OMP_NUM_THREADS": "1", MARK: mark}
    began = time.monotonic()
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = subprocess.Popen(
            whole, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environ, start_new_session=True
        )
        try:
            reports = list(_follow(process, written, began + timeout, until, stop or threading.Event()))
            status = process.poll()
            if status is None and reports and until(reports[-1]):
                bundle = _kept(bundle, reports[-1])
        finally:
            end(process, mark)
    seconds = time.monotonic() - began
    text = [(folder / name).read_text(encoding="utf-8", errors="replace") for name in ("stdout", "stderr")]
    return Run(status, tuple(reports), text[0], text[1], seconds, bundle, tuple(whole))


def is_told(report: Report, outcome: str) -> bool:
    """Whether a slow job or a suspected hang was reported as expected; one that is proven is stopped by `watch`."""
    return outcome in ("slow", "hang") and report["outcome"] == outcome and report["deadlock"] != "proven"


def _follow(
    process: subprocess.Popen[bytes],
    written: Path,
    deadline: float,
    until: Callable[[Report], bool],
    stop: threading.Event,
) -> Iterator[Report]:
    """Yield each new report. Ends when the process has ended, a report satisfies `until`, or time is up."""
    last = ""
    while True:
        over = process.poll() is not None or time.monotonic() > deadline or stop.is_set()
        text = read(written)
        if text and text != last:
            last = text
            report: Report = json.loads(text)
            yield report
            if until(report):
                return
        if over:
            return
        time.sleep(0.1)


def _kept(bundle: Path, report: Report) -> Path:
    """A copy of the evidence for that report, which is written after it: the end from here makes another report."""
    deadline = time.monotonic() + 30.0
    while json.loads(read(bundle / "report.json") or "{}") != report and time.monotonic() < deadline:
        time.sleep(0.1)
    return Path(shutil.copytree(bundle, bundle.with_name("told")))


def read(path: Path) -> str:
    """The file's text, "" if it does not exist. A half-written report would fail in json.loads: it must not occur."""
    with suppress(FileNotFoundError):
        return path.read_text(encoding="utf-8")
    return ""


def end(process: subprocess.Popen[bytes], mark: str) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(5.0)
    for survivor in marked(mark):
        with suppress(psutil.Error):
            survivor.kill()
    process.wait()


def marked(mark: str) -> list[psutil.Process]:
    """Living processes of a run, whoever is their parent by now."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == mark:
                found.append(process)
    return found
