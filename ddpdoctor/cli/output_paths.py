"""Impure. Checks, before the job starts, that files and folders can be written later."""

from __future__ import annotations

import os
from pathlib import Path

from ddpdoctor.collect.bundle import MANIFEST
from ddpdoctor.errors import UsageError


def check_file(path: Path | None, option: str, *, stdout: bool = False) -> None:
    """Check a file that will be written or replaced; `stdout`: `-` is standard output. Raises UsageError."""
    if path is None or (stdout and str(path) == "-"):
        return
    _check_name(path, option)
    if path.is_dir():
        raise UsageError(f"{option} {path}: is a folder", hint=f"name a file in it, as in {path / 'report.json'}")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {path}: no such folder", hint=f"`mkdir -p {path.parent}`")
    _check_writable(path.parent, path, option)


def check_folder(path: Path | None, option: str, *, own: bool = True) -> None:
    """Check a folder that will be created, or exists: as our `own`, empty or with an earlier bundle. Raises
    UsageError."""
    if path is None:
        return
    _check_name(path, option)
    if path.exists() and not path.is_dir():
        raise UsageError(f"{option} {path}: is a file", hint="name a folder; it need not exist")
    if own and path.is_dir() and not (path / MANIFEST).exists() and any(path.iterdir()):
        raise UsageError(f"{option} {path}: contains other files", hint=f"name one of its own, as in {path / 'bundle'}")
    there = next((parent for parent in path.absolute().parents if parent.exists()), Path("/"))
    _check_writable(there, path, option)


def _check_name(path: Path, option: str) -> None:
    if path == Path():
        raise UsageError(
            (f"{option}: must be neither empty nor the working directory"), hint="name a file or folder in it"
        )
    try:
        path.absolute()
    except FileNotFoundError:
        raise UsageError(f"{option} {path}: the working directory has been removed", hint="`cd` to another") from None


def _check_writable(folder: Path, path: Path, option: str) -> None:
    if not folder.is_dir():
        raise UsageError(f"{option} {path}: {folder} is not a folder", hint="choose another")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{option} {path}: {folder} cannot be written to", hint="choose another folder")
