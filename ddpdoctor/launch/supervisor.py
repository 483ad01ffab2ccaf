"""Runs the user's command as a child: in its own process group, with its stdio unchanged, its signals forwarded once.

The child does not depend on us: if the supervisor is killed, the job runs on. We stay in the terminal's foreground, so
that Ctrl-C and Ctrl-\\ reach us and not torchrun, which Ctrl-\\ would kill. A child that reads from the terminal is
stopped by the kernel (SIGTTIN) and then gets the foreground, including the keyboard's signals. Ctrl-Z stops both, `fg`
and `bg` continue both.

Most hangs end by a person, a scheduler or CI: while the job stands still, the first signal is held back for a look of
two seconds at most. A second signal releases the first at once, and follows it; if it is the same again, as much later
as it came later, since a launcher that is given a second to end its ranks needs that second. What comes within moments
only repeats the first: timeout(1) signals its child and then its group.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from types import FrameType, TracebackType

import psutil

from ddpdoctor.launch import foreground
from ddpdoctor.launch.command_check import start_error
from ddpdoctor.model.processes import Sent

#: forwarded once for each time they are received; SIGQUIT requests an examination and is never forwarded. Schedulers
#: send SIGUSR1 and SIGUSR2 before the time is up (Slurm's --signal), and trainers handle them (Lightning, submitit).
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
#: for our own use: whatever we inherit, we handle them, and the job inherits what we did
_OUR_OWN = (signal.SIGQUIT, signal.SIGCHLD, signal.SIGALRM)
#: a terminal sends these to a whole process group (Ctrl-C, hang-up), while kill(1) sends SIGTERM to one process
_TO_GROUP = (signal.SIGINT, signal.SIGHUP)

#: seconds for which a signal is held back, and within which the same signal is the same event
HOLD, SAME = 2.0, 0.02
#: seconds between two equal signals at least: of two that are pending at once a process gets one
APART = 0.5
#: seconds between SIGTERM and SIGKILL when a job is stopped
GRACE = 10.0


class Job:
    """A running command. Use it as a context manager: signal handlers are installed only inside."""

    def __init__(
        self, command: tuple[str, ...], environ: Mapping[str, str], *, look_on: signal.Signals = signal.SIGQUIT
    ) -> None:
        """`look_on`: a signal that requests an examination, as SIGQUIT always does."""
        self._command = command
        self._environ = environ
        self._look_on = {signal.SIGQUIT, look_on}
        self._looks_wanted = 0
        self._suspension_wanted = False
        self._terminal_wanted = False
        self._previous: dict[int, object] = {}
        self._status: int | None = None
        #: 0 until the command has started
        self.pid = 0
        #: signals that were forwarded: a job that ends after one was ended by its user
        self.sent: list[Sent] = []
        #: whether the job is known to stand still and nothing was said of it: then a signal that ends it can wait
        self.stands_still = False
        #: the signal that is held back, 0 for none, and since when
        self.held = 0
        self._held_since = 0.0
        #: a second one, equal to that which was just passed on; 0 for none
        self._following = 0
        #: called before we are stopped, as by Ctrl-Z
        self.before_suspension: Callable[[], None] = lambda: None
        #: the child's return code, negative for a signal; None while it runs
        self.returncode: int | None = None

    def __enter__(self) -> Job:
        """Start the command. Raises CommandNotFound or CommandNotExecutable."""
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._previous_wakeup = signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        # before the child exists, so that no signal can end us and leave it behind
        for number in (*FORWARDED, *_OUR_OWN, signal.SIGTSTP):
            # what is ignored stays ignored (nohup), except for our own use: without SIGCHLD the kernel would reap the
            # child and lose its status, and a script's `watch ... &` inherits an ignored SIGQUIT
            if number in _OUR_OWN or signal.getsignal(number) is not signal.SIG_IGN:
                self._previous[number] = signal.signal(number, self._on_signal)
        try:
            self._start()
        except BaseException:
            self._restore()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._restore()
        if foreground.foreground() == self.pid:
            foreground.give_foreground_to(os.getpgrp())

    def _start(self) -> None:
        try:
            self._child = subprocess.Popen(self._command, env=dict(self._environ), preexec_fn=self._in_child)
        except OSError as error:
            raise start_error(self._command, self._environ, error) from None
        self.pid = self._child.pid
        for sent in self.sent:
            self._forward(sent.number)

    def _in_child(self) -> None:
        """Between fork and exec: join an own process group; exec itself resets signal handlers."""
        os.setpgrp()
        for number in _OUR_OWN:
            if self._previous.get(number) is signal.SIG_IGN:
                signal.signal(number, signal.SIG_IGN)

    def _restore(self) -> None:
        if self.held or self._following:
            signal.setitimer(signal.ITIMER_REAL, 0.0)  # the job has ended meanwhile, and so would we
        signal.set_wakeup_fd(self._previous_wakeup)
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        """Runs between two bytecodes of any code of ours, so an examination in progress delays no signal."""
        if number in self._look_on:
            self._looks_wanted += 1
        elif number == signal.SIGTSTP:
            self._suspension_wanted = True
        elif number == signal.SIGALRM:
            self._on_time()
        elif number in FORWARDED:
            if self._status is not None:
                raise KeyboardInterrupt  # the job is over, so what is interrupted is our own last report
            now = time.monotonic()
            if self.stands_still and not self.held and not self.sent:
                self.held, self._held_since = number, now
                signal.setitimer(signal.ITIMER_REAL, HOLD)
            elif number == self.held and now - self._held_since > SAME:
                self.release()
                self._following = number
                signal.setitimer(signal.ITIMER_REAL, max(APART, now - self._held_since))
            elif number != self.held:
                self.release()
                self._pass_on(number)

    def _on_time(self) -> None:
        """The look takes too long, or the second signal is due."""
        number, self._following = self._following, 0
        if number:
            self._pass_on(number)
        else:
            self.release()

    def release(self) -> None:
        """Forward the signal that is held back."""
        number, self.held = self.held, 0
        if number:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            self._pass_on(number)

    def _pass_on(self, number: int) -> None:
        self.sent.append(Sent(number, time.monotonic()))
        if self.pid and self._status is None:
            self._forward(number)

    def _forward(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if number in _TO_GROUP else os.kill)(self.pid, number)

    def examination_requested(self) -> bool:
        """Whether SIGQUIT was received since the last call."""
        wanted, self._looks_wanted = self._looks_wanted > 0, 0
        return wanted

    def sleep(self, seconds: float) -> None:
        """Wait, but not longer than until a signal arrives or the child changes state."""
        ready, _, _ = select.select([self._wake_read], [], [], max(seconds, 0.0))
        if ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake_read, 512)

    def poll(self) -> int | None:
        """The child's exit status as a shell gives it (128 + n for a signal), None while it runs."""
        if self._suspension_wanted:
            self._suspension_wanted = False
            self._suspend()
        while self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                break
            if os.WIFSTOPPED(status):
                self._child_stopped(os.WSTOPSIG(status))
                continue
            code = os.waitstatus_to_exitcode(status)
            self._child.returncode = self.returncode = code
            self._status = code if code >= 0 else 128 - code
        if self._terminal_wanted and foreground.foreground() == os.getpgrp():
            self._terminal_wanted = False
            self._continue()
        return self._status

    def _child_stopped(self, number: int) -> None:
        """The child was stopped because of the terminal: it reads from it, or Ctrl-Z was typed while it was in the
        foreground. Any other stop is the user's."""
        owner = foreground.foreground()
        if number in (signal.SIGTTIN, signal.SIGTTOU):
            self._terminal_wanted = True
            if owner != os.getpgrp():
                # we are in the background: the shell shows that, and `fg` gives us the terminal
                self._stop_ourselves()
        elif number == signal.SIGTSTP and owner == self.pid:
            foreground.give_foreground_to(os.getpgrp())
            self._stop_ourselves()
            self._continue()

    def _suspend(self) -> None:
        """Ctrl-Z reached us: stop the job too, and continue it when a shell continues us."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGTSTP)
        self._stop_ourselves()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGCONT)

    def _stop_ourselves(self) -> None:
        self.before_suspension()
        foreground.stop_ourselves()

    def _continue(self) -> None:
        """Give the child the terminal if we are its foreground, never another program's, and continue it."""
        if foreground.foreground() == os.getpgrp():
            foreground.give_foreground_to(self.pid)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGCONT)

    def stop(self, grace: float = GRACE) -> None:
        """End the whole job: SIGTERM to the command and every rank, SIGKILL to what is left after `grace` seconds.

        Every process is signalled, since torchrun's workers are in sessions of their own and a hanging one does not
        react to its launcher.
        """
        family = _family(self.pid)
        for process in family:
            with contextlib.suppress(psutil.Error):
                process.send_signal(signal.SIGCONT)
                process.terminate()
        deadline = time.monotonic() + grace
        while self.poll() is None and time.monotonic() < deadline:
            self.sleep(0.1)
        for process in family:
            with contextlib.suppress(psutil.Error):
                process.kill()
        while self.poll() is None:
            self.sleep(0.1)


def _family(pid: int) -> list[psutil.Process]:
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []
