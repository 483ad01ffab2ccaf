"""Impure. What `watch` does with verdicts: print, write, stop, run a command. Its own failures end none of it."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import time
from pathlib import Path

from ddpdoctor.cli.console import Console
from ddpdoctor.collect import bundle
from ddpdoctor.config import OnHang, WatchConfig
from ddpdoctor.errors import DoctorError, ExitCode
from ddpdoctor.launch.supervisor import Job
from ddpdoctor.model.diagnosis import Outcome
from ddpdoctor.observe.looking import Looker, Verdict
from ddpdoctor.observe.watcher import Watcher
from ddpdoctor.report import json

#: evidence folders that are kept in the state directory
KEPT = 20


class Follower:
    """Follows one job from its start to its end."""

    def __init__(self, job: Job, looker: Looker, config: WatchConfig, console: Console) -> None:
        self._job = job
        self._config = config
        self._console = console
        self._started = looker.started
        self._watcher: Watcher | None = Watcher(looker, job.pid, config.stall_after, self._tell, self._resumed)
        self._stopped = False
        self._told = 0

    def tick(self) -> None:
        """Watch for a moment. An error of ours is said once, and then the job is left alone."""
        if self._watcher is None:
            return
        try:
            if self._job.look_wanted():
                self._print(self._watcher.look())
            self._watcher.tick(time.monotonic())
        except Exception as error:  # noqa: BLE001 - boundary: our own failure must not touch the job
            self._watcher = None
            self._console.say(f"cannot go on watching ({type(error).__name__}: {error}); the job runs on")

    def finish(self, status: int) -> int:
        """The job has ended: say how, and return the exit status of `watch`."""
        try:
            self._close(status)
        except Exception as error:  # noqa: BLE001 - boundary: the job's status is passed through whatever happens
            self._console.say(f"no final report ({type(error).__name__}: {error})")
        return int(ExitCode.HANG_STOPPED) if self._stopped else status

    def _close(self, status: int) -> None:
        ended = f"exit status {status}" if status < 128 else f"signal {status - 128}"
        seconds = time.monotonic() - self._started
        final = None if self._stopped or self._watcher is None else self._watcher.close()
        if final is not None and status != 0 and not self._job.forwarded and final.report.diagnoses:
            self._print(final, job=f"job ended with {ended}")
        elif final is not None and self._config.json and not self._told:
            self._write_json(final)
        if not self._stopped:
            self._console.mention(f"the job ended with {ended} after {seconds:.0f} s")

    def _tell(self, verdict: Verdict) -> None:
        stop = self._config.on_hang is OnHang.STOP and verdict.report.outcome is Outcome.HANG
        folder = self._print(verdict, job="stopping the job (--on-hang=stop)" if stop else "")
        if self._config.on_hang is OnHang.COMMAND:
            self._run_command(folder)
        if stop:
            self._stopped = True
            self._job.stop()

    def _resumed(self, moved: float) -> None:
        self._console.say(f"resumed: the job moved again {moved - self._started:.0f} s after its start")

    def _print(self, verdict: Verdict, job: str = "") -> Path | None:
        """Show a verdict and keep its evidence; returns the bundle, None where it could not be written."""
        self._told += 1
        self._write_json(verdict)
        folder = self._write_bundle(verdict)
        running = f"job left running (--on-hang={self._config.hang_command or 'report'})"
        self._console.report(verdict.report, job=job or running, bundle=folder)
        return folder

    def _write_json(self, verdict: Verdict) -> None:
        if self._config.json is None:
            return
        partial = self._config.json.with_name(f".{self._config.json.name}.{os.getpid()}")
        try:
            partial.write_text(json.render(verdict.report), encoding="utf-8")
            partial.replace(self._config.json)
        except OSError as error:
            self._console.say(f"cannot write {self._config.json}: {error.strerror}")
            with contextlib.suppress(OSError):
                partial.unlink()

    def _write_bundle(self, verdict: Verdict) -> Path | None:
        folder = self._config.bundle or _state_folder() / time.strftime(f"%Y%m%d-%H%M%S-{os.getpid()}")
        try:
            bundle.write(folder, verdict.capture, json.render(verdict.report))
        except DoctorError as error:
            self._console.say(error.message)
            return None
        if self._config.bundle is None:
            _forget_old(folder.parent)
        return folder

    def _run_command(self, folder: Path | None) -> None:
        """The user's program gets the report's path; what becomes of it is its own business."""
        path = self._config.json or (folder / "report.json" if folder else "")
        try:
            subprocess.Popen([*shlex.split(self._config.hang_command), str(path)], stdin=subprocess.DEVNULL)
        except (OSError, ValueError) as error:
            self._console.say(f"--on-hang command cannot be started: {error}")


def _state_folder() -> Path:
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "ddpdoctor" / "runs"


def _forget_old(folder: Path) -> None:
    """Keep the newest KEPT; names begin with the time, so their order is the runs'."""
    import shutil

    with contextlib.suppress(OSError):
        for old in sorted(p for p in folder.iterdir() if (p / bundle.MANIFEST).exists())[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)
