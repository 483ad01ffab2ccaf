"""Impure. Explains why a command cannot be started, and suggests what to type instead."""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from ddpdoctor.errors import CommandNotExecutable, CommandNotFound, DoctorError

_ASSIGNMENT = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*=")


def start_error(command: tuple[str, ...], environ: Mapping[str, str], error: OSError) -> DoctorError:
    """The error for a failed exec(3), with the exit statuses 126 and 127 that a shell would use."""
    name = command[0]
    if _ASSIGNMENT.match(name):
        return CommandNotFound(
            f"{name}: a variable, not a command", hint=f"type `ddpdoctor watch -- env {shlex.join(command)}`"
        )
    if not isinstance(error, FileNotFoundError):
        reason, hint = _unusable(name, error)
        return CommandNotExecutable(reason, hint=hint)
    if "/" not in name:
        return CommandNotFound(f"{name}: command not found", hint=_meant(name, environ))
    if Path(name).exists():
        # the file exists, so the interpreter in its first line is missing
        return CommandNotExecutable(f"{name}: {_interpreter(name)} does not exist", hint="fix its first line")
    return CommandNotFound(f"{name}: no such file", hint=_meant(name, environ))


def _meant(name: str, environ: Mapping[str, str]) -> str:
    first = name.split()[:1]
    if first != [name] and first and shutil.which(first[0], path=environ.get("PATH")):
        return f"without the quotes: `ddpdoctor watch -- {name}`"
    if name.endswith(".py") and Path(name).exists():
        return f"type `ddpdoctor watch -- torchrun {shlex.quote(name)}`"
    return "is the path right?" if "/" in name else "is it on PATH?"


def _unusable(name: str, error: OSError) -> tuple[str, str]:
    """What prevents the start, and a hint."""
    path, quoted = Path(name), shlex.quote(name)
    if path.is_dir():
        return f"{name}: a folder, not a program", "give the program in it"
    if name.endswith(".py"):
        return f"{name}: not executable", f"type `ddpdoctor watch -- torchrun {quoted}`"
    if error.errno == errno.ENOEXEC:
        return f"{name}: not a program for this machine, and its first line names no interpreter", "begin it with `#!`"
    if path.is_file() and not os.access(path, os.X_OK):
        return f"{name}: not executable", f"`chmod +x {quoted}`, or start it with its interpreter"
    return f"{name}: {error.strerror}", "is it a program?"


def _interpreter(name: str) -> str:
    """The interpreter in the `#!` line."""
    try:
        with Path(name).open("rb") as file:
            words = file.readline(512).removeprefix(b"#!").decode(errors="replace").split()
    except OSError:
        words = []
    return f"its interpreter {words[0]}" if words else "its interpreter"
