"""Impure. What `watch` does with verdicts: print, write, stop, run a command. Its own failures end none of it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ddpdoctor.cli.console import Console
from ddpdoctor.cli.lint_citations import with_lint_findings
from ddpdoctor.collect import bundle
from ddpdoctor.config import OnHang, WatchConfig
from ddpdoctor.errors import DoctorError, ExitCode
from ddpdoctor.launch.supervisor import Job
from ddpdoctor.model.diagnosis import Confidence, Outcome
from ddpdoctor.model.processes import Exit
from ddpdoctor.observe.inspector import Inspector, Verdict
from ddpdoctor.observe.watcher import Watcher
from ddpdoctor.report import json

#: evidence folders that are kept in the state directory
KEPT = 20


class VerdictActions:
    """Follows one job from its start to its end."""

    def __init__(self, job: Job, looker: Inspector, config: WatchConfig, console: Console, *, probe: bool) -> None:
        """`probe`: is it in the ranks' environment, rather than off or without a place for its pages?"""
        self._job = job
        self._config = config
        self._console = console
        self._started = looker.started
        self._watcher: Watcher | None = Watcher(
            looker, job.pid, config.stall_after, self._tell, self._resumed, probe=probe
        )
        self._stopped = False
        #: the last verdict that was shown
        self._told: Verdict | None = None
        #: the hang that was reported and has not moved on
        self._standing: Verdict | None = None

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
            self._console.say(f"cannot continue watching ({type(error).__name__}: {error}); the job keeps running")

    def finish(self, status: int) -> int:
        """The job has ended: say how, and return the exit status of `watch`."""
        try:
            self._close(status)
        except KeyboardInterrupt:
            self._console.say("interrupted; no final report")
        except Exception as error:  # noqa: BLE001 - boundary: the job's status is passed through whatever happens
            self._console.say(f"no final report ({type(error).__name__}: {error})")
        return int(ExitCode.HANG_STOPPED) if self._stopped else status

    def _close(self, status: int) -> None:
        code = self._job.returncode or 0
        ended = f"signal {-code}" if code < 0 else f"exit status {status}"
        seconds = time.monotonic() - self._started
        final = self._last_verdict(status)
        if final is not None and status != 0 and not self._job.forwarded and self._is_news(final):
            self._print(final, job=f"job ended with {ended}")
        elif final is not None and self._config.json and not self._told:
            self._write_json(final)
        if status == 0 and self._standing is not None:
            self._console.say("resumed: the job continued to its end")
        if self._stopped:
            # the launcher's own last words stand between this and the screen
            first = next(iter(self._told.report.diagnoses), None) if self._told else None
            named = f" for {first.code}: {first.summary}" if first else ""
            self._console.mention(f"the job was stopped after {seconds:.0f} s{named}")
        else:
            self._console.mention(f"the job ended with {ended} after {seconds:.0f} s")

    def _is_news(self, verdict: Verdict) -> bool:
        """Ranks whose timeout ran out in a hang that was told, and who lost those, tell nothing new by dying."""
        if not verdict.report.diagnoses or (self._told and _gist(verdict) == _gist(self._told)):
            return False
        return self._standing is None or verdict.report.diagnoses[0].confidence is not Confidence.POSSIBLE

    def _last_verdict(self, status: int) -> Verdict | None:
        """None where nobody would read it: a healthy end is told by --json alone."""
        if self._stopped or self._watcher is None or (status == 0 and (self._told or not self._config.json)):
            return None
        return self._watcher.close(Exit(self._job.pid, self._job.returncode or 0, time.monotonic()))

    def _tell(self, verdict: Verdict) -> None:
        hang = verdict.report.outcome is Outcome.HANG
        stop = self._config.on_hang is OnHang.STOP and hang
        folder = self._print(verdict, job="stopping the job (--on-hang=stop)" if stop else "")
        if self._config.on_hang is OnHang.COMMAND and hang:
            self._run_command(verdict, folder)
        if stop:
            self._stopped = True
            self._job.stop()

    def _resumed(self, moved: float) -> None:
        self._standing = None
        self._console.say(f"resumed: the job made progress again {moved - self._started:.0f} s after its start")

    def _print(self, verdict: Verdict, job: str = "") -> Path | None:
        """Show a verdict and keep its evidence; returns the bundle, None where it could not be written."""
        verdict = dataclasses.replace(verdict, report=with_lint_findings(verdict.report))
        self._told = verdict
        self._standing = verdict if verdict.report.outcome is Outcome.HANG else None
        self._write_json(verdict)
        folder = self._write_bundle(verdict)
        running = f"job left running (--on-hang={self._config.hang_command or 'report'})"
        try:
            self._console.report(verdict.report, job=job or running, bundle=folder)
        except Exception as error:  # noqa: BLE001 - boundary: --on-hang acts on a verdict that cannot be drawn, too
            self._console.say(f"the report cannot be shown ({type(error).__name__}: {error}); evidence: {folder}")
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
        try:
            folder = self._config.bundle or _state_folder() / time.strftime(f"%Y%m%d-%H%M%S-{os.getpid()}")
            bundle.write(folder, verdict.capture, json.render(verdict.report))
        except DoctorError as error:
            self._console.say(error.message)
            return None
        except RuntimeError as error:  # Path.home() for a user without a home
            self._console.say(f"no place for the bundle: {error}")
            return None
        if self._config.bundle is None:
            _forget_old(folder.parent)
        return folder

    def _run_command(self, verdict: Verdict, folder: Path | None) -> None:
        """The user's program gets the report's path; what becomes of it is its own business. Its output is stderr's."""
        try:
            path = self._config.json or (folder / "report.json" if folder else _write_aside(verdict))
            subprocess.Popen(
                [*shlex.split(self._config.hang_command), str(path)],
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._console.say(f"--on-hang command cannot be started: {error}")


def _gist(verdict: Verdict) -> object:
    report = verdict.report
    return report.outcome, [(diagnosis.code, diagnosis.culprits) for diagnosis in report.diagnoses[:1]]


def _write_aside(verdict: Verdict) -> Path:
    """A report that has no other place: a file of its own in the temporary directory. Raises OSError."""
    descriptor, name = tempfile.mkstemp(prefix="ddpdoctor-report-", suffix=".json")
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(json.render(verdict.report))
    return Path(name)


def _state_folder() -> Path:
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "ddpdoctor" / "runs"


def _forget_old(folder: Path) -> None:
    """Keep the newest KEPT; names begin with the time, so their order is the runs'."""
    import shutil

    with contextlib.suppress(OSError):
        for old in sorted(p for p in folder.iterdir() if (p / bundle.MANIFEST).exists())[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)
