"""The first process of namespaces of its own: runs one job, strikes, and says in JSON what came of it and what is left.

    unshare ... python -m tests.e2e.chaos.inside FAULT healthy|hung SEED watched|alone

Processes, file systems, shared memory and network are those of this run alone, and end with it.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from tests.e2e.chaos.faults import BY_NAME, SHM, TMP, Fault, Scene

PROGRAM = Path(__file__).with_name("training.py")
#: a file system that no fault touches
PLACE = Path("/mnt")
#: seconds that a run may take; and in which all that belongs to it must be gone after its end
LONGEST, GONE = 120.0, 5.0
#: seconds after all ranks have begun
EARLIEST, LATEST = 0.2, 4.0
#: in the watcher alone: the time of day is a day ahead, then a day behind, every other second
JUMPING = """
import runpy, time
real, began = time.time, time.time()
time.time = lambda: real() + (86400 if int(real() - began) % 2 else -86400)
runpy.run_module("ddpdoctor", run_name="__main__", alter_sys=True)
"""


def prepare() -> Path:
    """Make the file systems and the network; returns the job's folder."""
    for folder, size in ((TMP, "64m,nr_inodes=3000"), (SHM, "16m"), (PLACE, "512m")):
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    folder = PLACE / "job"
    folder.mkdir()
    return folder


def commands(fault: Fault, state: str, folder: Path, *, watched: bool) -> list[list[str]]:
    """One for each launcher."""
    torchrun = str(Path(sys.executable).with_name("torchrun"))
    program = [str(PROGRAM), str(folder), state, fault.inside]
    if fault.pair:
        place = ["--master-addr", "127.0.0.1", "--master-port", "29500", "--nproc-per-node", "2"]
        jobs = [[torchrun, "--nnodes", "2", "--node-rank", str(node), *place, *program] for node in range(2)]
    else:
        jobs = [[torchrun, "--standalone", "--nproc-per-node", "3", *program]]
    if not watched:
        return jobs
    doctor = [sys.executable, *(["-c", JUMPING] if fault.jumps else ["-m", "ddpdoctor"]), "watch"]
    options = ["--on-hang", "stop", "--stall-after", "5"]
    return [
        [*doctor, "--json", str(folder / f"report{i}.json"), "--bundle", str(TMP / f"bundle{i}"), *options, "--", *job]
        for i, job in enumerate(jobs)
    ]


class Play:
    """One run. As the first process it is also the parent of whoever has lost his own."""

    def __init__(self, fault: Fault, state: str, seed: int, *, watched: bool) -> None:
        self._fault = fault
        self._watched = watched
        self._after = random.Random(f"{fault.name} {seed}").uniform(EARLIEST, LATEST)
        self._folder = prepare()
        self._commands = commands(fault, state, self._folder, watched=watched)
        #: exit status and time of our children
        self._ended: dict[int, tuple[int, float]] = {}
        self._scene: Scene | None = None
        self._launchers_gone = 0.0
        self._reports: list[Any] = []
        #: what the striking thread failed of
        self._failure = ""

    def run(self) -> dict[str, Any]:
        began = time.monotonic()
        started = [self._start(i, command) for i, command in enumerate(self._commands)]
        threading.Thread(target=self._strike, args=(tuple(started),), daemon=True).start()
        while not all(pid in self._ended for pid in started) and time.monotonic() < began + LONGEST:
            self._reap()
            self._note_launchers()
            self._read_reports()
            time.sleep(0.05)
        over = time.monotonic()
        if self._fault.silences and self._watched:
            self._outlive(began)
        left = self._left()
        self._read_reports()
        last = max((self._ended[pid][1] for pid in started if pid in self._ended), default=over)
        return {
            "statuses": [self._ended[pid][0] if pid in self._ended else None for pid in started],
            "seconds": round(over - began, 1),
            "after_launchers": round(last - self._launchers_gone, 1) if self._launchers_gone else None,
            "stdout": self._said("out"),
            "stderr": "\n".join(self._said("err"))[-20000:],
            "reports": self._reports,
            "left": left,
            "folders": [run.name for run in sorted(TMP.glob("ddpdoctor-*"))],
            "failure": self._failure,
        }

    def _start(self, number: int, command: list[str]) -> int:
        environ = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path.cwd())}
        with open(self._folder / f"out{number}", "wb") as out, open(self._folder / f"err{number}", "wb") as err:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environ, start_new_session=True
            )
        process.returncode = 0  # it is waited for with all others
        return process.pid

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                self._ended[found[0]] = os.waitstatus_to_exitcode(found[1]), time.monotonic()

    def _strike(self, started: tuple[int, ...]) -> None:
        number = 4 if self._fault.pair else 3
        files = [self._folder / f"rank{rank}" for rank in range(number)]
        while not all(file.exists() for file in files):
            time.sleep(0.05)
        ranks = tuple(int(file.read_text()) for file in files)
        launchers = tuple(dict.fromkeys(psutil.Process(pid).ppid() for pid in ranks))
        self._scene = Scene(self._folder, started if self._watched else (), launchers, ranks)
        time.sleep(self._after)
        try:
            self._fault.strike(self._scene)
        except Exception as error:  # noqa: BLE001 - said in the result, which then counts for nothing
            self._failure = f"{type(error).__name__}: {error}"

    def _note_launchers(self) -> None:
        scene = self._scene
        if scene and not self._launchers_gone and not any(_runs(pid) for pid in scene.launchers):
            self._launchers_gone = time.monotonic()

    def _read_reports(self) -> None:
        for file in sorted(self._folder.glob("report*.json")):
            with suppress(OSError, ValueError):
                report = json.loads(file.read_text())
                gist = [
                    report["outcome"],
                    report["deadlock"],
                    [[d["code"], d["confidence"], d["culprits"], d["culprit_confidence"]] for d in report["diagnoses"]],
                    [gap["reason"] for gap in report["gaps"]],
                ]
                if gist not in self._reports:
                    self._reports.append(gist)

    def _outlive(self, began: float) -> None:
        """The job goes on without its watcher."""
        while self._scene and any(_runs(pid) for pid in self._scene.launchers) and time.monotonic() < began + LONGEST:
            self._reap()
            time.sleep(0.1)

    def _left(self) -> list[str]:
        """The command lines of what outlives the run by a moment."""
        deadline = time.monotonic() + GONE
        while (left := sorted(_others())) and time.monotonic() < deadline:
            self._reap()
            time.sleep(0.1)
        return left

    def _said(self, what: str) -> list[str]:
        lines: list[str] = []
        for file in sorted(self._folder.glob(f"{what}[0-9]")):
            lines += (line[:300] for line in file.read_text(errors="replace").splitlines())
        return lines


def _runs(pid: int) -> bool:
    with suppress(psutil.Error):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


def _others() -> Iterator[str]:
    """What runs here beside us; what a fault has started itself is no one's fault."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE and process.name() != "sleep":
                yield " ".join(process.cmdline())[:200] or process.name()


def main() -> None:
    name, state, seed, watched = sys.argv[1:]
    result = Play(BY_NAME[name], state, int(seed), watched=watched == "watched").run()
    print(json.dumps(result))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
