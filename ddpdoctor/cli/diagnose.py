"""Impure. `ddpdoctor diagnose PATH...`: the verdict on the files of a job, without the job."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from ddpdoctor.cli import options
from ddpdoctor.errors import ExitCode, InputError
from ddpdoctor.model.diagnosis import Outcome
from ddpdoctor.model.recorder_set import RecorderSet
from ddpdoctor.model.report import Report

_EPILOG = """examples:
  ddpdoctor diagnose /tmp/nccl_trace_rank_* stacks/ slurm-812.out
  ddpdoctor diagnose -f markdown logs/ > issue.md
  kubectl logs trainer-0 | ddpdoctor diagnose -

exit status:
  0  healthy
  1  a diagnosis was made
  2  invalid arguments, or nothing in the paths can be read"""

_FORMATS = ("terminal", "json", "markdown")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        help="a bundle of `ddpdoctor watch`, Flight Recorder dumps, py-spy, faulthandler, gdb or pystack stacks, logs, "
        "or folders of these; `-` reads standard input. Files are identified by their content",
    )
    parser.add_argument(
        "-f", "--format", choices=_FORMATS, default="terminal", help="output format on stdout (default: terminal)"
    )
    parser.add_argument(
        "--matrix", action="store_true", help="first print a table of ranks by collectives, like torch's analyzer"
    )
    parser.add_argument(
        "--json", metavar="FILE", help="also write the report as JSON to FILE; `-` for stdout, instead of the screen"
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Read, judge, print. Raises InputError if nothing can be read."""
    from ddpdoctor.archive import input_files, pipeline
    from ddpdoctor.cli.lint_citations import with_lint_findings

    found = input_files.find(args.paths, sys.stdin.buffer)
    dumps = pipeline.read_dumps(found)
    report = with_lint_findings(pipeline.diagnose(found, dumps))
    if args.json and args.json != "-":
        _save_json(report, args.json)
    if args.matrix and args.json != "-" and args.format == "terminal":
        sys.stdout.write(_matrix(pipeline.recorder_set(found, dumps)))
    sys.stdout.write(_rendered(report, "json" if args.json == "-" else args.format, args.paths))
    return ExitCode.OK if report.outcome is Outcome.HEALTHY else ExitCode.FOUND


def _matrix(recorders: RecorderSet) -> str:
    from ddpdoctor.report import collective_matrix
    from ddpdoctor.report.terminal_text import Style

    screen = options.screen(sys.stdout, os.environ)
    return collective_matrix.render(recorders, width=screen.width, style=Style(unicode=screen.unicode)) + "\n"


def _save_json(report: Report, target: str) -> None:
    from ddpdoctor.report import json

    try:
        Path(target).write_text(json.render(report), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}", hint="name a file in an existing folder") from None


def _rendered(report: Report, form: str, paths: list[str]) -> str:
    if form == "json":
        from ddpdoctor.report import json

        return json.render(report)
    directory = str(Path.cwd())
    if form == "markdown":
        from ddpdoctor.report import markdown

        return markdown.render(report, directory=directory)
    from ddpdoctor.report import terminal

    screen = options.screen(sys.stdout, os.environ)
    return terminal.render(
        report,
        screen,
        bundle=paths[0] if len(paths) == 1 and paths[0] != "-" else "",
        directory=directory,
    )
