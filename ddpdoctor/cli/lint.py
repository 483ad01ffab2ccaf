"""Impure. `ddpdoctor lint PATH...`: finds hangs before the launch."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from ddpdoctor.cli import lint_output, lint_settings
from ddpdoctor.errors import ExitCode, InputError, UsageError
from ddpdoctor.lint import cache, engine, repeats
from ddpdoctor.lint.engine import LintReport
from ddpdoctor.lint.settings import Settings
from ddpdoctor.model.record import replace

if TYPE_CHECKING:
    from ddpdoctor.cli.lint_baseline import Baseline

_EPILOG = """examples:
  ddpdoctor lint src/ train.py
  ddpdoctor lint --select DD111,DD112 -o github .
  ddpdoctor lint --diff --unsafe-fixes train.py
  cat train.py | ddpdoctor lint - --stdin-filename train.py

findings are cached in $XDG_CACHE_HOME/ddpdoctor (default ~/.cache/ddpdoctor)

exit status:
  0  no findings (or --exit-zero)
  1  findings; with --diff: something to change; with --fix: findings remain
  2  invalid arguments or configuration"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `lint`."""
    parser.epilog = _EPILOG
    parser.add_argument("paths", metavar="PATH", nargs="*", help="files and folders; `-` reads standard input")
    parser.add_argument("--stdin-filename", metavar="FILE", default="",
                        help="file name for `-`, used in messages and to resolve imports")  # fmt: skip
    parser.add_argument("--select", metavar="CODES", action="append", default=[],
                        help="run only these: codes, prefixes (DD11), names, or ALL")  # fmt: skip
    parser.add_argument("--ignore", metavar="CODES", action="append", default=[], help="do not run these")
    parser.add_argument("--extend-select", metavar="CODES", action="append", default=[], help="run these as well")
    parser.add_argument(
        *("-f", "--format", "-o", "--output-format"),
        metavar="FORMAT",
        dest="output_format",
        choices=lint_output.FORMATS,
        default="full",
        help=f"one of {', '.join(lint_output.FORMATS)}",
    )
    parser.add_argument("--json", metavar="FILE", help="also write the findings as JSON to FILE; `-` for stdout, alone")
    parser.add_argument("--fix", action="store_true", help="apply safe fixes")
    parser.add_argument("--unsafe-fixes", action="store_true",
                        help="with --fix or --diff: also fixes that may change what the program does")  # fmt: skip
    parser.add_argument("--diff", action="store_true", help="show what --fix would change, and change nothing")
    parser.add_argument("--statistics", action="store_true", help="count findings by rule instead of listing them")
    parser.add_argument(
        ("--baseline"), metavar="FILE", help="report only findings that FILE does not list; created if missing"
    )
    parser.add_argument("--exit-zero", action="store_true", help="exit 0 even with findings")
    parser.add_argument("--force-exclude", action="store_true", help="also skip excluded files that are given by name")
    parser.add_argument(
        ("--torch-version"), metavar="X.Y", help="check APIs against this torch (default: the newest known)"
    )
    parser.add_argument("--jobs", metavar="N", type=int, help="number of processes (default: one per core)")
    parser.add_argument("--no-cache", action="store_true", help="analyse every file, and keep nothing for later runs")


def run(args: argparse.Namespace) -> ExitCode:
    """Lint. Raises UsageError and InputError for unusable arguments and files."""
    _check(args)
    engine.relax_collector()
    chosen, root = lint_settings.load_settings(args)
    known = _baseline(args)
    raw = sys.stdin.buffer.read() if args.paths == ["-"] else None
    report = _linted(args, chosen, root, raw)
    lint_output.warn_of_no_files(args, report)
    if known is not None:
        known.write_if_missing(report)
        report = known.new_findings(report)
    if args.diff or args.fix:
        return _fix(args, report, (chosen, root), known, raw)
    report = _told(report)
    if args.json:
        lint_output.write_json(args.json, report)
    if args.json != "-":
        lint_output.print_findings(args, report)
    return _status(args, bool(report.findings))


def _baseline(args: argparse.Namespace) -> Baseline | None:
    # imported only when needed: a hook lints one file in the time that these imports take
    if not args.baseline:
        return None
    from ddpdoctor.cli import lint_baseline

    return lint_baseline.load(args.baseline)


def _check(args: argparse.Namespace) -> None:
    if not args.paths:
        raise UsageError("no files or folders to lint", hint="`ddpdoctor lint .` lints all files below")
    if "-" in args.paths and len(args.paths) > 1:
        raise UsageError("`-` cannot be mixed with other paths", hint="for a file of this name write `./-`")
    if args.jobs is not None and args.jobs < 1:
        raise UsageError("--jobs must be 1 or more")
    if "-" in args.paths and sys.stdin is None:
        raise InputError("`-` reads standard input, which is closed")
    try:
        os.getcwd()  # noqa: PTH109 - for its error
    except OSError:
        raise InputError("the working directory no longer exists") from None
    lint_output.check(args)


def _status(args: argparse.Namespace, found: bool) -> ExitCode:
    return ExitCode.FOUND if found and not args.exit_zero else ExitCode.OK


def _linted(args: argparse.Namespace, chosen: Settings, root: str, raw: bytes | None) -> LintReport:
    if raw is not None:
        from ddpdoctor.lint.linter import Linter  # what the cache tells is told without it

        result = Linter(chosen, root).bytes(args.stdin_filename or "<stdin>", raw, named=True)
        return LintReport(result.findings, result.texts, 1, 1, result.hints)
    progress = lint_output.LintProgress(sys.stderr)
    try:
        return engine.lint(
            args.paths, chosen, jobs=args.jobs or os.cpu_count() or 1, root=root, progress=progress.show,
            cache=None if args.no_cache else cache.opened(chosen, root),
        )  # fmt: skip
    finally:
        progress.end()


def _told(report: LintReport) -> LintReport:
    """The report as people read it; baselines and fixes need every finding."""
    return replace(report, findings=repeats.told_once(report.findings, report.texts))


def _fix(
    args: argparse.Namespace, report: LintReport, how: tuple[Settings, str], known: Baseline | None, raw: bytes | None
) -> ExitCode:
    """Apply or show fixes; the remaining findings are reported as usual, on standard error if standard output holds
    source."""
    from ddpdoctor.cli import lint_fixes

    def above(result: LintReport) -> LintReport:
        return known.new_findings(result) if known is not None else result

    changed = lint_fixes.apply_fixes(report, lint_fixes.FixRun(*how, args.unsafe_fixes, above), raw)
    if args.diff:
        for one in changed:
            lint_output.write(one.diff())
        return _status(args, bool(changed))
    if raw is not None:
        raw = changed[0].after if changed else raw
        sys.stdout.buffer.write(raw)
    else:
        for one in changed:
            one.write()
    if changed:
        report = above(_linted(args, *how, raw))
    lint_output.print_findings(args, _told(report), sys.stderr if raw is not None else None)
    count, number = sum(one.count for one in changed), len(changed)
    said = f"fixed {count} finding{'s' * (count != 1)} in {number} file{'s' * (number != 1)}"
    print(f"ddpdoctor: {said if changed else 'nothing to fix'}", file=sys.stderr)
    return _status(args, bool(report.findings))
