"""Impure. `ddpdoctor diagnose BUNDLE`: the verdict on evidence that was taken earlier, without the job."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from ddpdoctor.cli import options
from ddpdoctor.errors import ExitCode, InputError
from ddpdoctor.model.diagnosis import Outcome
from ddpdoctor.model.report import Report

_EPILOG = """examples:
  ddpdoctor diagnose ~/.local/state/ddpdoctor/runs/20260822-141203-a3f1
  ddpdoctor diagnose --json - bundle/ | jq .diagnoses[0].summary

exit status:
  0  healthy
  1  a diagnosis
  2  unusable arguments, or a bundle that cannot be read"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    parser.add_argument("bundle", metavar="BUNDLE", type=Path, help="a folder that `ddpdoctor watch` has written")
    parser.add_argument(
        "--json", metavar="FILE", help="write the report as JSON to FILE; `-` for stdout, no screen then"
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Replay a bundle; raises InputError where it cannot be used."""
    from ddpdoctor.collect import assemble, bundle
    from ddpdoctor.diagnose import engine

    report = engine.examine(assemble.assemble(bundle.read(args.bundle)))
    if args.json:
        _write_json(report, args.json)
    if args.json != "-":
        _draw(report, args.bundle)
    return ExitCode.OK if report.outcome is Outcome.HEALTHY else ExitCode.FOUND


def _write_json(report: Report, target: str) -> None:
    from ddpdoctor.report import json

    text = json.render(report)
    if target == "-":
        sys.stdout.write(text)
        return
    try:
        Path(target).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot write {target}: {error.strerror}", hint="name a file in a folder that exists"
        ) from None


def _draw(report: Report, folder: Path) -> None:
    from ddpdoctor.report import terminal

    screen = options.screen(sys.stdout, os.environ)
    text = terminal.render(
        report,
        width=screen.width,
        color=screen.color,
        unicode=screen.unicode,
        bundle=str(folder),
        directory=str(Path.cwd()),
    )
    sys.stdout.write(text)
