"""Impure: reads pyproject.toml. The settings of lint: options take precedence over configuration, that over
defaults."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ddpdoctor.cli import project_file
from ddpdoctor.errors import UsageError
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
    found = project_file.nearest(start, "lint")
    if found is None:
        return "", {}
    path, table = found
    try:
        return str(path.parent), settings.from_pyproject(table, registry.names())
    except UsageError as error:
        raise UsageError(f"{path}: [tool.ddpdoctor.lint]: {error.message}", hint=error.hint) from None
