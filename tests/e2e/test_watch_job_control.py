"""`watch` in an interactive shell: Ctrl-Z, fg, bg and a job that reads input behave as without `watch`."""

from __future__ import annotations

import os
import pty
import re
import select
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest

WATCH = f"{sys.executable} -m ddpdoctor watch --quiet --"
#: seconds after which what does not happen will not: many times what a busy machine needs
PATIENCE = 900.0
#: counts while it runs, so that its silence shows that it is stopped
COUNTER = "'import time\nfor i in range(6000): print(\"at\", i, flush=True); time.sleep(0.1)'"
READER = '\'print(input("na" + "me? ") + " it is"); print(input("a" + "ge? ") + " years")\''


class Shell:
    """bash in its own terminal."""

    def __init__(self) -> None:
        self.pid, self._file = pty.fork()
        if self.pid == 0:
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], {**os.environ, "PS1": "$ "})
        self.text = ""

    def type(self, text: str) -> None:
        self.text = ""
        os.write(self._file, text.encode())

    def read(self, seconds: float) -> str:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self._file], [], [], left)[0]:
                self.text += os.read(self._file, 4096).decode(errors="replace")
        return self.text

    def wait_for(self, pattern: str, seconds: float = PATIENCE) -> None:
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.text):
            assert time.monotonic() < deadline, f"no {pattern!r} in:\n{self.text}"
            self.read(0.1)

    def foreground(self) -> int:
        return os.tcgetpgrp(self._file)

    def wait_until_the_job_has_the_terminal(self) -> None:
        """The process that `watch` has started is in the foreground, so it may read."""
        deadline = time.monotonic() + PATIENCE
        while self.foreground() != os.getpgid(self.job().pid):
            assert time.monotonic() < deadline, self.text
            time.sleep(0.02)

    def wait_until_stopped(self) -> None:
        """Wait until the job is stopped, as Ctrl-Z or a read in the background stops a program."""
        deadline = time.monotonic() + PATIENCE
        while self.job().status() != psutil.STATUS_STOPPED:
            assert time.monotonic() < deadline, self.text
            time.sleep(0.02)

    def job(self) -> psutil.Process:
        (watch,) = psutil.Process(self.pid).children()
        (job,) = watch.children()
        return job

    def wait_for_stopped(self) -> None:
        """bash reports a stopped background job before its next prompt, so it is asked until it does."""
        deadline = time.monotonic() + PATIENCE
        while "Stopped" not in self.text:
            assert time.monotonic() < deadline, self.text
            self.type("jobs\n")
            self.read(0.3)

    def close(self) -> None:
        """End everything that the terminal's session has, stopped jobs of the background too."""
        for process in psutil.process_iter():
            with suppress(psutil.NoSuchProcess, ProcessLookupError):
                if os.getsid(process.pid) == self.pid:
                    process.kill()
        os.close(self._file)
        os.waitpid(self.pid, 0)


@pytest.fixture
def shell() -> Iterator[Shell]:
    shell = Shell()
    shell.wait_for(r"\$ ")
    yield shell
    shell.close()


def test_ctrl_z_stops_the_job_and_fg_continues_it(shell: Shell) -> None:
    shell.type(f"{WATCH} {sys.executable} -c {COUNTER}\n")
    shell.wait_for(r"\bat 5\b")
    shell.type("\x1a")
    shell.wait_for("Stopped")
    shell.wait_until_stopped()
    shell.type("fg\n")
    shell.wait_for(r"\bat \d\d\b")
    shell.type("\x03")
    shell.wait_for(r"KeyboardInterrupt[\s\S]*\$ $")


def test_bg_continues_the_job_behind_the_prompt(shell: Shell) -> None:
    shell.type(f"{WATCH} {sys.executable} -c {COUNTER}\n")
    shell.wait_for(r"\bat 5\b")
    shell.type("\x1a")
    shell.wait_for("Stopped")
    shell.type("bg\n")
    shell.wait_for(r"\bat \d\d\b")
    assert shell.foreground() == shell.pid
    shell.type("kill %1; wait %1; echo status $?\n")
    shell.wait_for("status 143")


def test_ctrl_z_while_the_job_has_the_terminal(shell: Shell) -> None:
    shell.type(f"{WATCH} {sys.executable} -c {READER}\n")
    shell.wait_for("name[?] ")
    shell.wait_until_the_job_has_the_terminal()
    shell.type("Ann\n")
    shell.wait_for("Ann it is")
    shell.wait_for("age[?] ")
    shell.type("\x1a")
    shell.wait_for("Stopped")
    assert shell.foreground() == shell.pid
    shell.type("fg\n")
    shell.wait_for("fg[\\s\\S]*watch")
    shell.wait_until_the_job_has_the_terminal()
    shell.type("44\n")
    shell.wait_for("44 years")
    shell.wait_for(r"\$ $")


def test_a_background_job_that_reads_does_not_take_the_terminal(shell: Shell) -> None:
    shell.type(f"{WATCH} {sys.executable} -c {READER} &\n")
    shell.wait_for("name[?] ")
    shell.wait_until_stopped()
    shell.type("echo still' 'mine\n")
    shell.wait_for("still mine")
    shell.wait_for_stopped()
    shell.type("fg\n")
    shell.wait_until_the_job_has_the_terminal()
    shell.type("Bob\n")
    shell.wait_for("Bob it is")
