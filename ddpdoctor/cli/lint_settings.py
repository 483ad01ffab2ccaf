"""Impure: reads pyproject.toml. The settings of lint: options take precedence over configuration, that over
defaults."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from ddpdoctor.errors import InputError, UsageError
from ddpdoctor.lint import registry, settings
from ddpdoctor.lint.settings import Settings

#: the torch version that programs are judged by if none is given
NEWEST = (2, 13)


def load_settings(args: argparse.Namespace) -> tuple[Settings, str]:
    """The settings, and the folder that per-file patterns are relative to. Raises UsageError and InputError."""
    known = registry.names()
    root, table = _configured(Path(args.stdin_filename or args.paths[0]))
    chosen = {
        name: _split(name, getattr(args, name.replace("-", "_"))) for name in ("select", "ignore", "extend-select")
    }
    select = chosen["select"] or table.get("select", [])
    extend = [*table.get("extend-select", []), *chosen["extend-select"]]
    ignore = [*([] if chosen["select"] else table.get("ignore", [])), *chosen["ignore"]]
    version = args.torch_version or table.get("torch-version")
    return Settings(
        settings.choose(known, registry.defaults(), select=select, ignore=ignore, extend=extend),
        {k: tuple(v) for k, v in table.get("per-file-ignores", {}).items()},
        (*settings.DEFAULT_EXCLUDES, *table.get("exclude", [])),
        settings.torch_version(version) if version else NEWEST,
        settings.asked_for(known, select, extend),
        args.force_exclude,
    ), root


def _split(option: str, given: list[str]) -> list[str]:
    parts = [part for text in given for part in text.split(",") if part.strip()]
    if given and not parts:
        raise UsageError(f"{option} names no rule", hint="for example DD111, DD11, a rule's name, or ALL")
    return parts


def _configured(start: Path) -> tuple[str, dict[str, Any]]:
    """The folder of the nearest pyproject.toml at or above a path that has [tool.ddpdoctor.lint], and that table."""
    try:
        here = start.resolve()
    except (OSError, RuntimeError, ValueError):
        return "", {}
    for folder in (here, *here.parents):
        path = folder / "pyproject.toml"
        table = _table(path)
        if table is not None:
            try:
                return str(folder), settings.from_pyproject(table, registry.names())
            except UsageError as error:
                raise UsageError(f"{path}: [tool.ddpdoctor.lint]: {error.message}", hint=error.hint) from None
    return "", {}


def _table(path: Path) -> Any:
    """The table tool.ddpdoctor.lint of a file; None if there is no table or no file."""
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
    wrong = next((key for key in ours if key != "lint"), None) if isinstance(ours, dict) else ""
    if wrong is not None:
        what = f"there is no key {wrong!r}" if wrong else "it is not a table"
        raise UsageError(f"{path}: [tool.ddpdoctor]: {what}", hint="lint is configured in [tool.ddpdoctor.lint]")
    return ours.get("lint")
