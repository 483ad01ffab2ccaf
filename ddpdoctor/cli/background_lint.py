"""Impure. `watch --lint`: lints the job's script beside the job, without delaying or affecting it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from ddpdoctor.cli.console import Console
from ddpdoctor.errors import ExitCode
from ddpdoctor.launch.entry_script import find_script

#: seconds that the job's start waits for the findings; later ones are printed while the job runs
PATIENCE = 1.0
#: seconds after which lint is ended
WITHIN = 60.0
_TICK = 0.02
#: not `-m ddpdoctor`: that puts the working directory first on sys.path, and a training script's own `ast.py` or
#: `select.py` would replace the standard library's
_PROGRAM = "import sys; sys.path[:] = [p for p in sys.path if p]; from ddpdoctor.cli.main import entry; entry()"


class BackgroundLint:
    """One run of lint in a separate process, whose cost and outcome affect neither the job nor `watch`."""

    def __init__(self, command: tuple[str, ...] | None, environ: Mapping[str, str], console: Console) -> None:
        """Start it, unless `command` is None. If the command line names no script, one line says so."""
        self._console = console
        self._process: subprocess.Popen[bytes] | None = None
        self._began = time.monotonic()
        self._shown = ""
        if command is None:
            return
        try:
            script = find_script(command, Path.cwd(), environ)
            if script is None:
                console.say("--lint: the command line names no Python file; nothing was linted")
                return
            self._shown = os.path.relpath(script)
            self._output = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process; a pipe could fill up
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, "lint", "--jobs", "1", "--", self._shown],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            console.say(f"--lint: cannot be run ({error}); the job is started without it")

    def wait(self) -> None:
        """Wait a moment, so that findings are printed before the job's own output."""
        while self._process is not None and time.monotonic() - self._began < PATIENCE:
            self.tick()
            time.sleep(_TICK)

    def tick(self) -> None:
        """Print the findings if lint has ended; end it if it takes too long."""
        process = self._process
        if process is None:
            return
        status = process.poll()
        if status is not None:
            self._process = None
            self._report(status)
        elif time.monotonic() - self._began > WITHIN:
            self._end(f"--lint: {self._shown} was not read within {WITHIN:.0f} s; lint was stopped")

    def close(self) -> None:
        """The job has ended."""
        self.tick()
        if self._process is not None:
            self._end("--lint: the job ended before lint did")

    def _report(self, status: int) -> None:
        with self._output as output:
            output.seek(0)
            text = output.read().decode(errors="replace")
        seconds = time.monotonic() - self._began
        if status == ExitCode.OK:
            self._console.say_unless_quiet(f"--lint: no findings in {self._shown} ({seconds:.1f} s)")
        elif status == ExitCode.FOUND:
            self._console.show(text)
            self._console.say(f"--lint: the findings above are in {self._shown}; the job continues")
        else:
            last = text.strip().rpartition("\n")[2].removeprefix("ddpdoctor: ")
            self._console.say(f"--lint: failed with status {status}: {last or 'no message'}")

    def _end(self, why: str) -> None:
        if self._process is not None:
            with contextlib.suppress(OSError):
                self._process.kill()
            self._process.wait()
            self._output.close()
            self._process = None
            self._console.say(why)
