"""Impure: writes to standard output. The output of `lint`: findings in a format, counts, progress."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TextIO

from ddpdoctor.cli import options
from ddpdoctor.errors import UsageError
from ddpdoctor.lint import registry
from ddpdoctor.lint.engine import LintReport
from ddpdoctor.model.finding import Finding
from ddpdoctor.model.record import replace

FORMATS = ("full", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit")
#: for readers; the other formats are read by programs and do not depend on the terminal
FOR_PEOPLE = frozenset({"full", "concise"})
#: read by services that identify files by their paths in the repository
_IN_REPOSITORY = frozenset({"sarif", "github", "gitlab"})
#: seconds of work after which a terminal shows progress, and between two updates
_PATIENCE, _EVERY = 1.5, 0.1


def check(args: argparse.Namespace) -> None:
    """Reject options that cannot be combined. Raises UsageError."""
    people = args.output_format in FOR_PEOPLE
    if args.statistics and not people and args.output_format != "json":
        raise UsageError(f"--statistics has no {args.output_format} format", hint="use text, or -o json")
    if args.json and (args.diff or args.fix or args.statistics):
        raise UsageError("--json writes findings and cannot be combined with --diff, --fix or --statistics")
    if args.diff and (args.statistics or not people):
        other = "--statistics" if args.statistics else f"-o {args.output_format}"
        raise UsageError(f"--diff prints text and cannot be combined with {other}")


def write_json(target: str, report: LintReport) -> None:
    """Write the findings to a file, `-` for standard output. Raises InputError."""
    from ddpdoctor.cli import forms  # a hook lints one file in the time that this takes

    forms.write(target, _rendered("json", report, color=False))


def write(text: str, *, exact: bool = False) -> None:
    """Write to standard output: as UTF-8 for programs; for readers, with characters that the encoding lacks escaped."""
    if exact:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        return
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


def print_findings(args: argparse.Namespace, report: LintReport, stream: TextIO | None = None) -> None:
    """Print the findings in the chosen format; `stream` replaces standard output for text formats."""
    out = stream or sys.stdout
    people = args.output_format in FOR_PEOPLE
    if args.statistics:
        text = _counts(report.findings, as_json=not people)
    elif not report.findings and people:
        text = _nothing(report) if out.isatty() else ""
    else:
        text = _rendered(args.output_format, report, options.screen(out, os.environ).color)
    if text and args.output_format == "full" and report.hints:
        text = f"{text.rstrip()} {_left_out(report.hints)}\n"
    if stream is not None:
        stream.write(text.encode(stream.encoding or "utf-8", "backslashreplace").decode(stream.encoding or "utf-8"))
    else:
        write(text, exact=not people)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if args.output_format == "github" and summary and report.findings:
        _append_summary(summary, report)


def warn_of_no_files(args: argparse.Namespace, report: LintReport) -> None:
    """Warn if nothing was linted: a mistyped path, or a pattern that excludes everything, would look like clean
    code."""
    if not report.files:
        print(f"ddpdoctor: no Python files in {', '.join(args.paths)}", file=sys.stderr)


def _rendered(name: str, report: LintReport, color: bool) -> str:
    renderer = import_module(f"ddpdoctor.report.findings.{name}")
    if name in FOR_PEOPLE:
        return str(renderer.render(report.findings, report.texts, color=color))
    findings = _in_repository(report.findings) if name in _IN_REPOSITORY else report.findings
    if name == "sarif":
        return str(renderer.render(findings, report.texts, {rule.code: page for rule, page in registry.pages()}))
    return str(renderer.render(findings, report.texts))


def _in_repository(findings: Sequence[Finding]) -> list[Finding]:
    """The findings with paths relative to the root of the repository; a file outside of it keeps its path."""
    root = _root(os.environ)

    def named(path: str) -> str:
        absolute = os.path.abspath(path)  # noqa: PTH100 - links stay as they are
        return os.path.relpath(absolute, root) if absolute.startswith(f"{root.rstrip('/')}/") else path

    return [
        replace(f, file=named(f.file), related=tuple(replace(r, file=named(r.file)) for r in f.related))
        for f in findings
    ]


def _root(environ: Mapping[str, str]) -> str:
    """The folder that the service has checked out, or else the nearest one with `.git`, or else the working
    directory."""
    here = os.getcwd()  # noqa: PTH109
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        folder = environ.get(name, "").rstrip("/")
        if folder and f"{here}/".startswith(f"{folder}/"):
            return folder
    # False where a folder may not be looked into
    return next((str(f) for f in (Path(here), *Path(here).parents) if os.path.exists(f / ".git")), here)  # noqa: PTH110


def _counts(findings: Sequence[Finding], *, as_json: bool) -> str:
    counts: dict[tuple[str, str, str], int] = {}
    for f in findings:
        key = (f.code, f.severity.value, f.name)
        counts[key] = counts.get(key, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if as_json:
        listed = [
            {"code": code, "name": name, "severity": severity, "count": count}
            for (code, severity, name), count in ordered
        ]
        return json.dumps(listed, indent=2) + "\n"
    return "".join(f"{count:>6}  {code}  {severity:<7}  {name}\n" for (code, severity, name), count in ordered)


def _nothing(report: LintReport) -> str:
    if not report.files:
        return ""
    files = f"{report.files} file{'s' * (report.files != 1)}"
    if report.mattering < report.files:
        verb = "mentions" if report.mattering == 1 else "mention"
        return f"No findings in {files}, of which {report.mattering} {verb} distributed training.\n"
    return f"No findings in {files}.\n"


def _left_out(hints: int) -> str:
    return f"{hints} hint{'s are' if hints > 1 else ' is'} not shown: see --extend-select ALL."


def _append_summary(path: str, report: LintReport) -> None:
    """Append all findings to the summary page of the workflow's run, because GitHub shows only ten annotations of a
    kind."""
    from ddpdoctor.report.findings import summary

    try:
        with open(path, "a", encoding="utf-8", errors="replace") as file:
            file.write(summary.render(_in_repository(report.findings), report.texts))
    except OSError as error:
        print(f"ddpdoctor: cannot write the summary {path}: {error.strerror}", file=sys.stderr)


class LintProgress:
    """Progress of a long run, in one line of a terminal that is removed at the end; nothing on other streams."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = False
        self._next = time.monotonic() + _PATIENCE if stream.isatty() else float("inf")

    def show(self, done: int, total: int) -> None:
        """Show that `done` of `total` files are linted."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _EVERY
        self._shown = True
        self._stream.write(f"\rddpdoctor: {done} of {total} files \x1b[K")
        self._stream.flush()

    def end(self) -> None:
        """Remove the line."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
