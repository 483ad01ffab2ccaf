"""Ends of a job: who is sent which signal when, or which fault a rank commits; run with `watch` and without it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.e2e.job import MARK, STARTUP, marked, torchrun

PROGRAM = Path(__file__).parent / "programs" / "ending.py"
RANKS = 2
#: seconds for which a job has moved, or stood, when its end begins: `watch` counts on six to call it standing
MOVED, STOOD = 1.5, 9.0
#: seconds in which an end comes: torchrun leaves its ranks thirty between SIGTERM and SIGKILL
PATIENCE = 90.0


@dataclass(frozen=True)
class Blow:
    """A signal to a part of the job, so many seconds after the one before."""

    #: "watch" (its launcher where nobody watches), "launcher", "rank" (1), "ranks", "all" (every process of the job),
    #: "group" (the process group that a terminal would send it to)
    target: str
    number: signal.Signals
    after: float = 0.0


@dataclass(frozen=True)
class End:
    """A kind of end: blows from outside, or a fault that rank 1 commits."""

    name: str
    blows: tuple[Blow, ...] = ()
    fault: str = ""
    #: the ranks take two seconds after Ctrl-C
    lingers: bool = False
    #: words before the job's command, or before that of `watch`
    inside: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    status: int
    stdout: str
    stderr: str
    #: seconds from the first blow to the end of the first process
    seconds: float
    #: pids of processes that outlived it by a moment
    left: tuple[int, ...]
    report: dict[str, Any]
    bundle: Path
    ranks: tuple[int, ...]

    def explain(self) -> str:
        told = [(d["code"], d["confidence"], d["culprits"], d["summary"]) for d in self.report.get("diagnoses", [])]
        head = {key: self.report.get(key) for key in ("outcome", "deadlock", "notes")}
        return (
            f"status {self.status} after {self.seconds:.1f} s, left {self.left}; {head} {told}\n{self.stderr[-3000:]}"
        )


def run(end: End, state: str, folder: Path, *, watched: bool, options: Sequence[str] = ()) -> Ended:
    """Start the job, end it in this way, and wait for what is left."""
    folder.mkdir(parents=True)
    written, bundle, mark = folder / "report.json", folder / "bundle", uuid.uuid4().hex
    command = [*end.inside, *torchrun(PROGRAM, RANKS, str(folder), state, "linger" if end.lingers else end.fault)]
    if watched:
        own = [sys.executable, "-m", "ddpdoctor", "watch", "--json", str(written), "--bundle", str(bundle)]
        command = [*own, *options, "--", *command]
    command = [*end.outside, *command]
    environ = {**os.environ, "OMP_NUM_THREADS": "1", MARK: mark}
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environ, start_new_session=True
        )
        try:
            ranks = _when_ready(folder, process)
            time.sleep(STOOD if state == "hung" and watched else MOVED)
            began = time.monotonic()
            if end.fault:
                (folder / "go").touch()
            for blow in end.blows:
                time.sleep(blow.after)
                _strike(blow, process.pid, ranks, mark)
            process.wait(PATIENCE)
            seconds = time.monotonic() - began
            left = _left(mark, ranks)
        finally:
            for survivor in marked(mark):
                with suppress(psutil.Error):
                    survivor.kill()
            process.kill()
            process.wait()
            _remove_cgroup(folder)
    text = [(folder / name).read_text(encoding="utf-8", errors="replace") for name in ("stdout", "stderr")]
    report = json.loads(written.read_text()) if written.exists() else {}
    return Ended(process.returncode, text[0], text[1], seconds, left, report, bundle, ranks)


def _remove_cgroup(folder: Path) -> None:
    """The memory cgroup that a rank has made, which is empty once the rank is reaped."""
    with suppress(FileNotFoundError):
        Path((folder / "cgroup").read_text()).rmdir()


def can_limit_memory() -> bool:
    """Whether a rank may make a memory cgroup: by the first version of cgroups, as root."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    own = next((line.split(":", 2)[2] for line in lines if line.split(":")[1] == "memory"), None)
    return own is not None and os.geteuid() == 0 and os.access(f"/sys/fs/cgroup/memory{own}", os.W_OK)


def _when_ready(folder: Path, process: subprocess.Popen[bytes]) -> tuple[int, ...]:
    """The ranks' pids as soon as all have met."""
    files = [folder / f"rank{rank}" for rank in range(RANKS)]
    deadline = time.monotonic() + STARTUP
    while not all(file.exists() for file in files):
        assert process.poll() is None, (folder / "stderr").read_text()
        assert time.monotonic() < deadline, "the job did not start"
        time.sleep(0.1)
    return tuple(int(file.read_text()) for file in files)


def _strike(blow: Blow, first: int, ranks: Sequence[int], mark: str) -> None:
    """Send it; whoever has ended meanwhile is spared."""
    launcher = psutil.Process(ranks[0]).ppid() if psutil.pid_exists(ranks[0]) else first
    targets: dict[str, Sequence[int]] = {
        "watch": [first],
        "launcher": [launcher],
        "rank": ranks[1:],
        "ranks": ranks,
        "all": [process.pid for process in marked(mark)],
    }
    with suppress(ProcessLookupError):
        if blow.target == "group":
            os.killpg(first, blow.number)
    for pid in targets.get(blow.target, ()):
        with suppress(ProcessLookupError):
            os.kill(pid, blow.number)


def _left(mark: str, ranks: Sequence[int]) -> tuple[int, ...]:
    """What still runs when everything had a moment to end."""
    deadline = time.monotonic() + 2.0
    while (left := tuple(process.pid for process in marked(mark))) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


#: what differs from run to run in torchrun's output: times, pids, ports, addresses, thread ids
_VARIES = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\d+")


def said(text: str) -> list[str]:
    """The lines without what varies, sorted: those of several processes come in any order."""
    lines = [line for line in text.splitlines() if not line.startswith("ddpdoctor: ")]
    return sorted(_VARIES.sub("#", line) for line in lines)
