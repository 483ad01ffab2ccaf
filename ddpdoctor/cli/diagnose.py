"""Impure. `ddpdoctor diagnose PATH...`: the verdict on the files of a job, without the job."""

from __future__ import annotations

import argparse
import os
import sys

from ddpdoctor.cli import forms, options
from ddpdoctor.errors import ExitCode
from ddpdoctor.model.diagnosis import Outcome
from ddpdoctor.model.recorder_set import RecorderSet

_EPILOG = """examples:
  ddpdoctor diagnose /tmp/nccl_trace_rank_* stacks/ slurm-812.out
  ddpdoctor diagnose -f markdown logs/ > issue.md
  ddpdoctor diagnose --html hang.html logs/ dumps/
  kubectl logs trainer-0 | ddpdoctor diagnose -

exit status:
  0  healthy
  1  a diagnosis was made
  2  invalid arguments, or nothing in the paths can be read"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        help="a bundle of `ddpdoctor watch`, Flight Recorder dumps, py-spy, faulthandler, gdb or pystack stacks, logs, "
        "or folders of these; `-` reads standard input. Files are identified by their content",
    )
    forms.add_format(parser)
    parser.add_argument(
        "--matrix", action="store_true", help="first print a table of ranks by collectives, like torch's analyzer"
    )
    parser.add_argument(
        "--json", metavar="FILE", help="also write the report as JSON to FILE; `-` for stdout, instead of the screen"
    )
    parser.add_argument("--html", metavar="FILE", help="also write the report as one HTML page to FILE; `-` for stdout")


def run(args: argparse.Namespace) -> ExitCode:
    """Read, judge, print. Raises InputError if nothing can be read."""
    from ddpdoctor import exhibit
    from ddpdoctor.archive import input_files, pipeline
    from ddpdoctor.cli.lint_citations import with_lint_findings

    found = input_files.find(args.paths, sys.stdin.buffer)
    dumps = pipeline.read_dumps(found)
    report, evidence = pipeline.examine(found, dumps)
    shown = exhibit.of(with_lint_findings(report), evidence, dumps.recorders() if dumps.members else None)
    files = {form: target for form, target in (("json", args.json), ("html", args.html)) if target}
    for form, target in files.items():
        forms.write(target, forms.render(form, shown, os.environ))
    if forms.STDOUT not in files.values():
        if args.matrix and args.format == "text":
            forms.show(_matrix(pipeline.recorder_set(found, dumps)))
        bundle = args.paths[0] if len(args.paths) == 1 and args.paths[0] != forms.STDOUT else ""
        forms.show(forms.render(args.format, shown, os.environ, bundle=bundle))
    return ExitCode.OK if report.outcome is Outcome.HEALTHY else ExitCode.FOUND


def _matrix(recorders: RecorderSet) -> str:
    from ddpdoctor.report import collective_matrix
    from ddpdoctor.report.terminal_text import Style

    screen = options.screen(sys.stdout, os.environ)
    return collective_matrix.render(recorders, width=screen.width, style=Style(unicode=screen.unicode)) + "\n"
