"""Impure. Describes a failure of ddpdoctor itself in a file for a bug report."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback

import ddpdoctor


def describe(error: BaseException, argv: list[str]) -> str:
    """Write the report file (0600, temporary directory) and return the line that names it.

    Arguments are left out, since a command line may contain a secret; only the subcommand and the names of our options
    are written.
    """
    said = f"internal error: {type(error).__name__}: {error}".splitlines()[0][:300]
    try:
        handle, path = tempfile.mkstemp(prefix="ddpdoctor-failure-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(_report(error, argv))
    except OSError as refused:
        return f"{said} - its report could not be written: {refused.strerror}"
    return f"{said} - please report it with {path}"


def _report(error: BaseException, argv: list[str]) -> str:
    own = argv[: argv.index("--")] if "--" in argv else argv
    shown = [word.partition("=")[0] for i, word in enumerate(own) if i == 0 or word.startswith("-")]
    return "\n".join(
        (
            f"ddpdoctor {ddpdoctor.__version__}",
            f"python {platform.python_version()} ({sys.implementation.name})",
            f"platform {platform.platform()}",
            f"command ddpdoctor {' '.join(shown)}",
            "",
            "".join(traceback.format_exception(error)),
        )
    )
