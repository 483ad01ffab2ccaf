"""Impure. `ddpdoctor config show`: every setting of `watch` with its value and where it comes from."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ddpdoctor.cli import forms
from ddpdoctor.errors import ExitCode

_EPILOG = """examples:
  ddpdoctor config show
  DDPDOCTOR_STALL_AFTER=5m ddpdoctor config show

Options of `watch` come before variables (DDPDOCTOR_STALL_AFTER for --stall-after), and these before the nearest
pyproject.toml with [tool.ddpdoctor.watch]. That file cannot name a command to run, an address to tell, or a file to
write.

exit status:
  0  shown
  2  invalid arguments, or a setting that cannot be used"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "ddpdoctor config show [options]"
    parser.epilog = _EPILOG
    parser.add_argument("action", choices=["show"], help="show: print every setting")
    forms.add_json(parser, "the settings")


def run(args: argparse.Namespace) -> ExitCode:
    """Print. Raises UsageError for a setting that cannot be used."""
    from ddpdoctor.cli.watch_settings import resolve

    found = resolve(os.environ, Path.cwd())
    told = {
        "schema": "ddpdoctor.config/1",
        "watch": {one.setting.name: {"value": one.shown(), "origin": one.origin} for one in found},
    }
    names = max(len(one.setting.name) for one in found)
    values = max(len(one.shown()) for one in found)
    lines = [f"{one.setting.name:<{names}}  {one.shown():<{values}}  {one.origin}\n" for one in found]
    forms.tell(args, told, "".join(lines))
    return ExitCode.OK
