"""Impure: reads pyproject.toml. What a project tells ddpdoctor: [tool.ddpdoctor.lint] and [tool.ddpdoctor.watch]."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from ddpdoctor.errors import InputError, UsageError

#: tables below [tool.ddpdoctor]
_TABLES = ("lint", "watch")


def nearest(start: Path, name: str) -> tuple[Path, Any] | None:
    """The nearest pyproject.toml at or above a path that has the table [tool.ddpdoctor.NAME], and that table.

    Raises UsageError for a file that is not valid, InputError for one that cannot be read.
    """
    try:
        here = start.resolve()
    except (OSError, RuntimeError, ValueError):
        return None
    for folder in (here, *here.parents):
        path = folder / "pyproject.toml"
        table = _table(path, name)
        if table is not None:
            return path, table
    return None


def _table(path: Path, name: str) -> Any:
    """None if there is no table or no file."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        # False also for a folder without permission to read it
        if os.path.isfile(path):  # noqa: PTH113 - False if that is not known
            raise InputError(f"cannot read {path}: {error.strerror}") from None
        return None
    # parsing TOML takes milliseconds, which a project without our table need not spend
    if b"ddpdoctor" not in raw:
        return None
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        table = toml.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from None
    tool = table.get("tool")
    ours = tool.get("ddpdoctor") if isinstance(tool, dict) else None
    if ours is None:
        return None
    wrong = next((key for key in ours if key not in _TABLES), None) if isinstance(ours, dict) else ""
    if wrong is not None:
        what = f"there is no key {wrong!r}" if wrong else "it is not a table"
        hint = "lint is configured in [tool.ddpdoctor.lint], watch in [tool.ddpdoctor.watch]"
        raise UsageError(f"{path}: [tool.ddpdoctor]: {what}", hint=hint)
    return ours.get(name)
