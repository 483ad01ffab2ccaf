"""Python stacks by py-spy, from outside the process: without the GIL, a signal, or code in the process."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ddpdoctor.collect import refusal
from ddpdoctor.collect.refusal import Refusal
from ddpdoctor.model import json_text
from ddpdoctor.model.evidence import Gap, Source
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.ranks import Role, Worker
from ddpdoctor.model.stacks import Local, Site, Stacks, StackSource, Thread
from ddpdoctor.probe.redact import plain

#: seconds; a dump takes 10-15 ms without --native, up to 2 s with it (py-spy 0.4.3)
DEADLINE = 4.0
#: frames of one thread that are kept
MOST_FRAMES = 512
#: py-spy's message for a process that is not a Python interpreter
_NO_PYTHON = "Failed to find python version"
#: what helps against a py-spy that does not start
REINSTALL = "pip install --force-reinstall py-spy"
#: the values of locals that are read
NUMBER = re.compile(r"-?\d{1,18}")
CONSTANTS = {"None": None, "False": 0, "True": 1}


def find() -> str | None:
    """py-spy's path: beside this interpreter, where `pip install` puts it, or else on PATH."""
    beside = Path(sys.executable).parent / "py-spy"
    return str(beside) if os.access(beside, os.X_OK) else shutil.which("py-spy")


def fetch(
    worker: Worker,
    *,
    native: bool = False,
    deadline: float = DEADLINE,
    keep: Callable[[bytes], bytes] | None = None,
) -> bytes | Gap | None:
    """py-spy's JSON for one process. The process is not paused, because ptrace would stop all its threads.

    A torn dump (the stack changed while it was read) is retried once. None for a child that does not run Python, such
    as a shell. With `keep` the frames' locals are read as well, and the answer is what it returns: the rest of them
    must not leave this function.
    """
    program = find()
    if program is None:
        return _gap(worker, *Refusal.NO_PYSPY.value)
    command = [program, "dump", "--json", "--nonblocking", "--pid", str(worker.pid)]
    command += ["--native"] * native + ["--locals"] * (keep is not None)
    said = ""
    for _ in range(2):
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=deadline,
                check=False,
                start_new_session=True,  # Ctrl-C and Ctrl-\\ in this terminal are not meant for py-spy
            )
        except subprocess.TimeoutExpired:
            return _gap(worker, f"py-spy gave no answer within {deadline:g} s")
        except OSError as error:
            return _gap(worker, f"py-spy cannot be started: {error.strerror}", REINSTALL)
        if done.returncode == 0 and done.stdout.lstrip().startswith(b"["):
            return keep(done.stdout) if keep else done.stdout
        said = done.stderr.decode(errors="replace")
        if _NO_PYTHON in said and _is_another_program(worker):
            return None
        if "ermission" in said:
            return _refused(worker)
    return _gap(worker, f"py-spy failed: {_last_line(said)}")


def _is_another_program(worker: Worker) -> bool:
    """Whether a child runs a program that is not named like a Python interpreter; interpreters may be hard to read as
    well."""
    try:
        program = Path(f"/proc/{worker.pid}/exe").readlink().name
    except OSError:
        return False
    return worker.role is Role.CHILD and "py" not in program


def parse(data: bytes, source: StackSource = StackSource.PYSPY_NONBLOCKING) -> Stacks:
    """Read `py-spy dump --json`. Raises ValueError for anything else."""
    loaded: Any = json_text.parsed(data)
    if not isinstance(loaded, list):
        raise ValueError("not a py-spy dump")
    try:
        return Stacks(source, tuple(_thread(item) for item in loaded if isinstance(item, dict)))
    except (TypeError, OverflowError) as error:  # a number that is a text, or infinite
        raise ValueError(f"not a py-spy dump: {error}") from None


def _thread(item: dict[str, Any]) -> Thread:
    frames = item.get("frames")
    if not isinstance(frames, list):
        raise ValueError("py-spy dump without frames")
    return Thread(
        os_id=int(item.get("os_thread_id") or 0),
        name=plain(str(item.get("thread_name") or "")) or _unnamed(item),
        frames=tuple(_frame(frame) for frame in frames[:MOST_FRAMES] if isinstance(frame, dict)),
        active=Observed.of(bool(item.get("active"))),
        owns_gil=Observed.of(bool(item.get("owns_gil"))),
        ident=int(item.get("thread_id") or 0),
        locals=tuple(local for i, frame in enumerate(frames[:MOST_FRAMES]) for local in _locals(i, frame)),
    )


def _unnamed(item: dict[str, Any]) -> str:
    """The name of a thread that has none for py-spy, which asks `threading`, and a small program need not import it."""
    return "MainThread" if item.get("pid") is not None and item.get("pid") == item.get("os_thread_id") else ""


def _locals(index: int, frame: Any) -> Iterator[Local]:
    """Numbers and None among the frame's locals; nothing else is read, whatever the dump has."""
    found = frame.get("locals") if isinstance(frame, dict) else None
    for item in found if isinstance(found, list) else ():
        text = str(item.get("repr")) if isinstance(item, dict) else ""
        if text in CONSTANTS or NUMBER.fullmatch(text):
            yield Local(index, plain(str(item.get("name"))), CONSTANTS[text] if text in CONSTANTS else int(text))


def _frame(frame: dict[str, Any]) -> Site:
    return Site(plain(str(frame.get("filename", "?"))), int(frame.get("line") or 0), plain(str(frame.get("name", "?"))))


def _refused(worker: Worker) -> Gap:
    """The gap of a process that may not be read, with the reason and its remedy."""
    seen = refusal.circumstances(worker.pid)
    found = refusal.why(seen)
    return _gap(worker, f"py-spy may not attach: {found.reason(seen)}", found.remedy(seen))


def _last_line(text: str) -> str:
    said = plain(text).partition("Stack backtrace")[0]
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no error message"


def _gap(worker: Worker, reason: str, remedy: str = "") -> Gap:
    return Gap(Source.STACKS, worker.rank, reason, remedy)
