"""Impure. What `watch` does with verdicts: print, write, stop, run a command. A failure of one does not prevent the
others."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ddpdoctor.cli import forms
from ddpdoctor.cli.announcements import Announcements
from ddpdoctor.cli.console import Console
from ddpdoctor.cli.lint_citations import with_lint_findings
from ddpdoctor.cli.live_view import ranks_named
from ddpdoctor.collect import bundle
from ddpdoctor.config import OnHang, WatchConfig
from ddpdoctor.diagnose.course import early_sign, with_course
from ddpdoctor.errors import DoctorError, ExitCode
from ddpdoctor.launch.supervisor import Job
from ddpdoctor.model.diagnosis import Confidence, Outcome
from ddpdoctor.model.early_sign import EarlySign
from ddpdoctor.model.evidence import Gap
from ddpdoctor.model.exhibit import Exhibit
from ddpdoctor.model.processes import Exit
from ddpdoctor.observe import stopping
from ddpdoctor.observe.inspector import Inspector, Verdict
from ddpdoctor.observe.watcher import MEETING_STEP, Callbacks, Policy, Seen, Watcher
from ddpdoctor.report import json
from ddpdoctor.report.wording import waited_in_words

#: evidence folders that are kept in the state directory
KEPT = 20
#: seconds between ticks, and as long as nothing has to be done soon; a launcher waits two for us after a failure
TICK, CALM_TICK = 0.25, 0.5


class VerdictActions:
    """Follows one job from its start to its end."""

    def __init__(self, job: Job, inspector: Inspector, config: WatchConfig, console: Console, *, probe: bool) -> None:
        """`probe`: whether it is in the ranks' environment; not if it is off, has no place for its pages, or torch
        does not load it."""
        self._job = job
        self._config = config
        self._console = console
        self._started = inspector.started
        self._watcher: Watcher | None = Watcher(
            inspector,
            job.pid,
            Callbacks(
                verdict=self._act_on,
                confirmed=self._confirmed,
                restarted=self._restarted,
                resumed=self._resumed,
                ending=self._ended_by_launcher,
                lost=self._lost,
                looked=self._looked,
                sign=self._signed,
                desync=self._desynced,
                unprobed=self._unprobed if probe else None,
            ),
            Policy(config.stall_after, probe, config.on_hang is OnHang.STOP, config.shared),
        )
        self._announcements = Announcements(config, console)
        self._stopped = False
        #: the watcher of another node stops the job, so what follows here is a consequence
        self._stopped_elsewhere = False
        #: the last verdict that was shown
        self._shown: Verdict | None = None
        #: what earlier attempts failed of, if the launcher has started the ranks again
        self._attempts: list[str] = []
        #: the reported hang, as long as it lasts
        self._standing: Verdict | None = None
        #: the last one, if it was on a job that stood for a rank at work, and the job has not gone on since
        self._slow: Verdict | None = None

    def tick(self) -> None:
        """Watch for a moment. An error of ours is reported once, and then the job is left alone."""
        if self._watcher is None:
            return
        try:
            if self._job.examination_requested():
                self._watcher.look()
            if self._job.held:
                self._look_before_the_end(self._watcher)
            self._watcher.tick(time.monotonic())
            self._job.stands_still = self._watcher.stands_still(time.monotonic())
            if self._announcements.due():
                self._announcements.update(self._watcher.seen(), stalled=self._job.stands_still)
        except Exception as error:  # noqa: BLE001 - boundary: our own failure must not touch the job
            self._watcher.leave()
            self._watcher = None
            self._job.stands_still = False
            self._job.release()
            self._console.say(f"cannot continue watching ({type(error).__name__}: {error}); the job keeps running")

    def seen(self) -> Seen | None:
        """What was seen of the job so far, None if it is not watched any more."""
        return self._watcher.seen() if self._watcher else None

    def _look_before_the_end(self, watcher: Watcher) -> None:
        """The job stands still and is told to end: what it stands in is seen now or never, unless it was just told."""
        if not watcher.stands_still(time.monotonic()):
            self._job.release()
            return
        name = signal.Signals(self._job.held).name
        verdict = watcher.last_look()
        self._job.release()
        if verdict.report.outcome is not Outcome.HEALTHY:
            self._print(verdict, job=f"looked at before {name} was passed on to the job")

    @property
    def pause(self) -> float:
        """Seconds until the next tick is due."""
        if self._watcher is not None and self._watcher.meets:
            return MEETING_STEP
        return CALM_TICK if self._watcher is not None and self._watcher.calm else TICK

    def finish(self, status: int) -> int:
        """Report how the job ended, and return the exit status of `watch`."""
        try:
            self._close(status)
        except KeyboardInterrupt:
            self._console.say("interrupted; no final report")
        except Exception as error:  # noqa: BLE001 - boundary: the job's status is passed through whatever happens
            self._console.say(f"no final report ({type(error).__name__}: {error})")
        self._announce_end(status)
        if self._watcher is not None:
            self._watcher.leave()
        return int(ExitCode.HANG_STOPPED) if self._stopped else status

    def _announce_end(self, status: int) -> None:
        """Say what became of the job; a person who is in a hurry is not held up."""
        try:
            if status == 0 and not self._stopped:
                self._announcements.recovered("the job came to its end")
            seen = self._watcher.seen() if self._watcher else None
            self._announcements.update(
                seen, stalled=False, status=int(ExitCode.HANG_STOPPED) if self._stopped else status
            )
            self._announcements.close()
        except KeyboardInterrupt:
            return
        except Exception as error:  # noqa: BLE001 - boundary: the job's status is passed through whatever happens
            self._console.say(f"cannot tell others ({type(error).__name__}: {error})")

    def _close(self, status: int) -> None:
        code = self._job.returncode or 0
        ended = f"signal {-code}" if code < 0 else f"exit status {status}"
        seconds = time.monotonic() - self._started
        final = self._last_verdict(status)
        if final is not None and status != 0 and self._is_news(final):
            self._print(final, job=f"job ended with {ended}")
        elif final is not None and not self._shown:
            self._write_file(final, "json", self._config.json)
            self._write_file(final, "html", self._config.html)
        elif final is None and self._wants_file() and self._watcher is not None and not self._watcher.seen().ranks:
            self._console.say("no report is written: no rank of a distributed job was seen")
        if status == 0 and self._standing is not None:
            self._console.say("resumed: the job continued to its end")
        if self._stopped:
            # the launcher's own last lines are between this and the verdict
            first = next(iter(self._shown.report.diagnoses), None) if self._shown else None
            named = f" for {first.code}: {first.summary}" if first else ""
            self._console.say_unless_quiet(f"the job was stopped after {seconds:.0f} s{named}")
        else:
            seen = _in_words(self._watcher.seen(), *self._watcher.groups()) if self._watcher else ""
            attempts = len(self._attempts)
            failed = f"; {attempts} attempt{'s' if attempts > 1 else ''} before had failed" if attempts else ""
            self._console.say_unless_quiet(f"the job ended with {ended} after {seconds:.0f} s{seen}{failed}")

    def _is_news(self, verdict: Verdict) -> bool:
        """Whether a verdict is new: ranks that die of the timeout of a reported hang, and those that lose them, are
        not."""
        first = next(iter(verdict.report.diagnoses), None)
        if first is None or (self._shown and _gist(verdict) == _gist(self._shown)):
            return False
        if not first.culprits and (self._job.sent or self._shown):
            return False  # who ended it knows
        return self._standing is None or first.confidence is not Confidence.POSSIBLE

    def _last_verdict(self, status: int) -> Verdict | None:
        """The verdict on a job that has ended; None for a healthy one, unless --json or --html wants it."""
        if (
            self._stopped
            or self._stopped_elsewhere
            or self._watcher is None
            or (status == 0 and (self._shown or not self._wants_file()))
        ):
            return None
        own = Exit(self._job.pid, self._job.returncode or 0, time.monotonic())
        final = self._watcher.close(own, tuple(self._job.sent))
        if final is not None and self._slow is not None:
            final = _after(self._slow, final)
        if final is None or not self._attempts:
            return final
        return dataclasses.replace(
            final, report=dataclasses.replace(final.report, notes=(*final.report.notes, *self._attempts))
        )

    def _act_on(self, verdict: Verdict) -> None:
        hang = verdict.report.outcome is Outcome.HANG
        # where only some threads of a process stand, the job may well come to its end without them
        stop = (
            self._config.on_hang is OnHang.STOP
            and stopping.suffices(verdict.report, again=False)
            and not verdict.capture.threads
        )
        self._note_stop_elsewhere(verdict, again=False)
        folder = self._print(verdict, job="stopping the job (--on-hang=stop)" if stop else self._left_running(verdict))
        if self._config.on_hang is OnHang.COMMAND and hang:
            self._run_command("--on-hang", self._config.hang_command, verdict, folder)
        if stop:
            self._stop()

    def _signed(self, sign: EarlySign) -> None:
        """Loops over a loader will not end together, unless the program sees to it."""
        if self._config.on_desync is not OnHang.IGNORE:
            self._console.say_unless_quiet(early_sign(sign))

    def _desynced(self, verdict: Verdict) -> None:
        """Ranks have shifted against each other, and all move."""
        action = self._config.on_desync
        if action is OnHang.IGNORE:
            return
        stop = action is OnHang.STOP
        left = f"job left running (--on-desync={self._config.desync_command or 'report'})"
        folder = self._print(verdict, job="stopping the job (--on-desync=stop)" if stop else left)
        if action is OnHang.COMMAND:
            self._run_command("--on-desync", self._config.desync_command, verdict, folder)
        if stop:
            self._stop()
        else:
            self._shown = None  # a warning is no verdict: what comes of it is told, too

    def _confirmed(self, verdict: Verdict) -> None:
        """A later look has found the same as the verdict that was shown."""
        self._note_stop_elsewhere(verdict, again=True)
        if self._config.on_hang is not OnHang.STOP or not stopping.suffices(verdict.report, again=True):
            return
        first = verdict.report.diagnoses[0]
        self._console.say(f"a second look shows the same ({first.code}); stopping the job (--on-hang=stop)")
        self._stop()

    def _note_stop_elsewhere(self, verdict: Verdict, *, again: bool) -> None:
        if verdict.stops_elsewhere and stopping.suffices(verdict.report, again=again):
            self._stopped_elsewhere = True
            self._console.say("the watcher of another node stops the job (--on-hang=stop there)")

    def _restarted(self, verdict: Verdict) -> None:
        """The launcher has started the ranks again: this attempt has failed, and the job goes on."""
        first = next(iter(verdict.report.diagnoses), None)
        number = len(self._attempts) + 1
        self._attempts.append(
            f"attempt {number} failed: {f'{first.code}: {first.summary}' if first else 'unexplained'}"
        )
        self._print(verdict, job=f"attempt {number} failed; the launcher has started the ranks again")
        self._shown = self._standing = self._slow = None
        self._announcements.recovered("the launcher has started the ranks again")

    def _stop(self) -> None:
        self._stopped = True
        self._job.stop()

    def _left_running(self, verdict: Verdict) -> str:
        """What is said of a job that goes on."""
        if self._config.on_hang is not OnHang.STOP:
            return f"job left running (--on-hang={self._config.hang_command or 'report'})"
        if verdict.capture.threads:
            return "job left running: only threads beside the training stand still (--on-hang=stop)"
        match stopping.grounds(verdict.report):
            case stopping.Grounds.SUSPECTED:
                return "job left running until a second look shows the same (--on-hang=stop)"
            case stopping.Grounds.PART:
                return "job left running: what a part of its ranks shows stops no job (--on-hang=stop)"
            case stopping.Grounds.TOO_WEAK:
                return "job left running: what is only possible stops no job (--on-hang=stop)"
        return "job left running: only what hangs is stopped (--on-hang=stop)"

    def _ended_by_launcher(self, verdict: Verdict) -> None:
        """The job stood still, and its launcher, told to end by somebody else, has waited for a look."""
        self._print(verdict, job="looked at before its launcher ended the job")

    def _resumed(self, moved: float) -> None:
        self._standing = self._slow = None
        self._announcements.recovered("the job made progress again")
        self._console.say(f"resumed: the job made progress again {moved - self._started:.0f} s after its start")

    def _looked(self, verdict: Verdict) -> None:
        """Somebody has asked for it."""
        self._print(verdict)

    def _lost(self, said: str) -> None:
        """The job stands still, and nodes of it cannot be asked why."""
        self._console.say(f"the job stands still, and nothing is known of a part of it: {said}")

    def _unprobed(self, gap: Gap) -> None:
        """The job has no ranks as far as is seen, and this may be why."""
        self._console.say(f"no rank is seen: {gap.reason}; {gap.remedy}")

    def _print(self, verdict: Verdict, job: str = "") -> Path | None:
        """Show a verdict and keep its evidence; returns the bundle, None if it could not be written."""
        verdict = dataclasses.replace(verdict, report=with_lint_findings(verdict.report))
        self._shown = verdict
        self._job.stands_still = False
        self._standing = verdict if verdict.report.outcome is Outcome.HANG else None
        self._slow = verdict if verdict.report.outcome is Outcome.SLOW else None
        self._write_file(verdict, "json", self._config.json)
        folder = self._write_bundle(verdict)
        self._announcements.incident(verdict.report, folder)
        try:
            self._console.report(verdict.report, job=job or self._left_running(verdict), bundle=folder)
        except Exception as error:  # noqa: BLE001 - boundary: --on-hang acts on a verdict that cannot be drawn, too
            self._console.say(f"the report cannot be shown ({type(error).__name__}: {error}); evidence: {folder}")
        # last, since drawing a large job takes a second
        self._write_file(verdict, "html", self._config.html)
        return folder

    def _wants_file(self) -> bool:
        return self._config.json is not None or self._config.html is not None

    def _write_file(self, verdict: Verdict, form: str, path: Path | None) -> None:
        """Write the report in a form, if a file was named for it; a failure is said and prevents nothing."""
        if path is None:
            return
        try:
            forms.write(str(path), forms.render(form, _exhibit(form, verdict), os.environ))
        except DoctorError as error:
            self._console.say(error.message)
        except Exception as error:  # noqa: BLE001 - boundary: a verdict that cannot be drawn is still acted upon
            self._console.say(f"cannot write {path} ({type(error).__name__}: {error})")

    def _write_bundle(self, verdict: Verdict) -> Path | None:
        try:
            folder = self._config.bundle or state_folder() / time.strftime(f"%Y%m%d-%H%M%S-{os.getpid()}")
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

    def _report_file(self) -> Path | None:
        return None if self._config.json is None or str(self._config.json) == forms.STDOUT else self._config.json

    def _run_command(self, option: str, command: str, verdict: Verdict, folder: Path | None) -> None:
        """Run the user's program with the report's path; its outcome is ignored, its output goes to stderr."""
        try:
            path = self._report_file() or (folder / "report.json" if folder else _write_aside(verdict))
            subprocess.Popen(
                [*shlex.split(command), str(path)],
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._console.say(f"{option} command cannot be started: {error}")


def _exhibit(form: str, verdict: Verdict) -> Exhibit:
    """What the form needs: JSON holds the report alone."""
    if form == "json":
        return Exhibit(verdict.report)
    from ddpdoctor import exhibit
    from ddpdoctor.collect import assemble

    return exhibit.of(verdict.report, assemble.assemble(verdict.capture))


def _in_words(seen: Seen, groups: int, whole: bool) -> str:
    """What was seen of the job: a run without ranks or without a group was not watched for hangs."""
    if not seen.ranks:
        return " (no rank of a distributed job was seen)"
    ranks = f"{seen.ranks} rank{'s' if seen.ranks > 1 else ''}"
    if not seen.group:
        return f" ({ranks}; no process group was seen)"
    parts = [ranks, f"{groups} process group{'s' if groups != 1 else ''}{'' if whole else ' or more'}"]
    if seen.steps:
        parts.append(f"{seen.steps} step{'s' if seen.steps != 1 else ''}")
    if (wait := seen.pace.longest) is not None:
        parts.append(f"longest wait {wait.seconds:.0f} s, for {ranks_named(wait.ranks)}")
    if told := waited_in_words(seen.waited):
        parts.append(told)
    return f" ({', '.join(parts)})"


def _after(slow: Verdict, final: Verdict) -> Verdict:
    """The verdict on a job that has ended, with what it stood for before."""
    told = next(iter(slow.report.diagnoses), None)
    course = dataclasses.replace(final.capture.course, slow=told)
    code = {**slow.capture.code, **final.capture.code}
    capture = dataclasses.replace(final.capture, course=course, code=code)
    return dataclasses.replace(final, report=with_course(final.report, course, code), capture=capture)


def _gist(verdict: Verdict) -> object:
    report = verdict.report
    return report.outcome, [(diagnosis.code, diagnosis.culprits) for diagnosis in report.diagnoses[:1]]


def _write_aside(verdict: Verdict) -> Path:
    """Write the report to a file in the temporary directory, if no other place was given. Raises OSError."""
    descriptor, name = tempfile.mkstemp(prefix="ddpdoctor-report-", suffix=".json")
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(json.render(verdict.report))
    return Path(name)


def state_folder() -> Path:
    """Where evidence is kept if no other folder is given. Raises RuntimeError for a user without a home."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "ddpdoctor" / "runs"


def _forget_old(folder: Path) -> None:
    """Keep the newest KEPT folders; their names begin with the time, so they sort by it."""
    import shutil

    with contextlib.suppress(OSError):
        for old in sorted(p for p in folder.iterdir() if (p / bundle.MANIFEST).exists())[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)
