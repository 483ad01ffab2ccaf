"""The user's command as a child: its own process group, its stdio untouched, its signals forwarded once.

The child is not bound to us: if the supervisor is killed, the job runs on. We keep the terminal's foreground, so
that Ctrl-C and Ctrl-\\ come to us and not to torchrun, whose death Ctrl-\\ would be; a child that wants to read the
terminal is stopped by the kernel (SIGTTIN), and is then given it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping
from types import FrameType, TracebackType

import psutil

from ddpdoctor.errors import CommandNotExecutable, CommandNotFound

#: forwarded once each time they come; never SIGQUIT, which asks for a look
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: seconds between SIGTERM and SIGKILL for a job that is stopped
GRACE = 10.0


class Job:
    """A running command. Use as a context manager: signal handlers are ours only in between."""

    def __init__(self, command: tuple[str, ...], environ: Mapping[str, str]) -> None:
        """Start it. Raises CommandNotFound or CommandNotExecutable."""
        self._looks_wanted = 0
        self._previous: dict[int, object] = {}
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            self._child = subprocess.Popen(command, env=dict(environ), preexec_fn=os.setpgrp)
        except FileNotFoundError:
            raise CommandNotFound(f"{command[0]}: command not found", hint="is it on PATH?") from None
        except (PermissionError, OSError) as error:
            raise CommandNotExecutable(f"{command[0]}: {error.strerror}", hint="is it a program?") from None
        self.pid = self._child.pid
        #: signals that were forwarded: a job that ends after one was ended by its user
        self.forwarded: list[int] = []
        self._status: int | None = None

    def __enter__(self) -> Job:
        for number in (*FORWARDED, signal.SIGQUIT, signal.SIGCHLD):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup stays in force
                self._previous[number] = signal.signal(number, self._on_signal)
        self._previous_wakeup = signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        signal.set_wakeup_fd(self._previous_wakeup)
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        os.close(self._wake_read)
        os.close(self._wake_write)
        self._take_terminal_back()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        """Runs between two bytecodes of whatever we are doing, so a look in progress delays no signal."""
        if number == signal.SIGQUIT:
            self._looks_wanted += 1
        elif number in FORWARDED and self._status is None:
            self.forwarded.append(number)
            with contextlib.suppress(ProcessLookupError):
                # Ctrl-C reaches a terminal's whole process group; kill(1) reaches one process
                (os.killpg if number == signal.SIGINT else os.kill)(self.pid, number)

    def look_wanted(self) -> bool:
        """Has SIGQUIT come since the last time that this was asked?"""
        wanted, self._looks_wanted = self._looks_wanted > 0, 0
        return wanted

    def sleep(self, seconds: float) -> None:
        """Wait, but not longer than until a signal comes or the child changes."""
        ready, _, _ = select.select([self._wake_read], [], [], max(seconds, 0.0))
        if ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake_read, 512)

    def poll(self) -> int | None:
        """The child's exit status as a shell gives it (128 + n for a signal), None while it runs."""
        while self._status is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                self._status = 0
                break
            if pid == 0:
                return None
            if os.WIFSTOPPED(status):
                self._continue_in_foreground(os.WSTOPSIG(status))
                continue
            code = os.waitstatus_to_exitcode(status)
            self._child.returncode = code
            self._status = code if code >= 0 else 128 - code
        return self._status

    def _continue_in_foreground(self, number: int) -> None:
        """Stopped because it reads (or sets) the terminal: give it the terminal. Any other stop is the user's."""
        if number not in (signal.SIGTTIN, signal.SIGTTOU):
            return
        with contextlib.suppress(OSError):
            _set_foreground(self.pid)
            os.killpg(self.pid, signal.SIGCONT)

    def _take_terminal_back(self) -> None:
        with contextlib.suppress(OSError):
            if os.isatty(0) and os.tcgetpgrp(0) == self.pid:
                _set_foreground(os.getpgrp())

    def stop(self, grace: float = GRACE) -> None:
        """End the whole job: SIGTERM to the command and every rank, SIGKILL to what is left after `grace` seconds.

        Every process is asked, since torchrun's workers are sessions of their own and a hung one ignores its launcher.
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


def _set_foreground(group: int) -> None:
    """tcsetpgrp from a background group stops the caller unless SIGTTOU is blocked (tcsetpgrp(3))."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        os.tcsetpgrp(0, group)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTTOU})
