"""Impure. The forms of a report that `-f` names, and the files that `--json`, `--html` and `-o` name."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from ddpdoctor.cli import options
from ddpdoctor.errors import InputError
from ddpdoctor.model.exhibit import Exhibit

#: form -> what it is, in the order of the help text
FORMS = {
    "text": "one screen, as `watch` prints it",
    "markdown": "to paste into an issue",
    "html": "one page that opens from disk, without a network",
    "json": "the whole report",
    "junit": "a test case for a CI page",
    "trace": "Chrome trace events, for Perfetto and chrome://tracing",
}
#: older names
_ALIASES = {"terminal": "text"}
#: stands for standard output where a file is asked for
STDOUT = "-"


def add_format(parser: argparse.ArgumentParser) -> None:
    """`-f FORM`."""
    parser.add_argument(
        "-f",
        "--format",
        metavar="FORM",
        type=_form,
        default="text",
        help=f"output format: {', '.join(FORMS)} (default: text)",
    )


def add_json(parser: argparse.ArgumentParser, what: str, *, bare: bool = False) -> None:
    """`--json FILE`, and `-f text|json`, for a command whose result is no report. `bare`: `--json` alone is an older
    spelling of `--json -`."""
    parser.add_argument(
        "-f", "--format", choices=("text", "json"), default="text", help="what stdout shows (default: text)"
    )
    told = f"also write {what} as JSON to FILE; `-` for stdout, in place of the text"
    if bare:
        parser.add_argument("--json", metavar="FILE", nargs="?", const=STDOUT, help=told)
    else:
        parser.add_argument("--json", metavar="FILE", help=told)


def tell(args: argparse.Namespace, result: object, text: str) -> None:
    """Write a result where `add_json`'s options say: as JSON, as text, or both. Raises InputError."""
    if wants_json(args):
        form = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
        for target in dict.fromkeys((args.json or STDOUT, STDOUT if args.format == "json" else args.json or STDOUT)):
            write(target, form)
    if shows_text(args):
        write(STDOUT, text)


def wants_json(args: argparse.Namespace) -> bool:
    return bool(args.json) or args.format == "json"


def shows_text(args: argparse.Namespace) -> bool:
    """Whether standard output is for people."""
    return bool(args.format == "text" and args.json != STDOUT)


def _form(name: str) -> str:
    form = _ALIASES.get(name, name)
    if form not in FORMS:
        guess = options.closest(name, FORMS)
        raise argparse.ArgumentTypeError(
            f"{name!r} is not one of {', '.join(FORMS)}" + (f"; {guess}?" if guess else "")
        )
    return form


def render(form: str, exhibit: Exhibit, environ: Mapping[str, str], *, bundle: str = "") -> str:
    """The report in this form; `bundle` is named by the screen as the place of the evidence."""
    directory = str(Path.cwd())
    report = exhibit.report
    if form == "json":
        from ddpdoctor.report import json as whole

        return whole.render(report)
    if form == "markdown":
        from ddpdoctor.report import markdown

        return markdown.render(report, directory=directory)
    if form == "html":
        from ddpdoctor.report.html import page

        return page.render(exhibit, directory=directory)
    if form == "junit":
        from ddpdoctor.report import junit

        return junit.render(report, directory=directory)
    if form == "trace":
        from ddpdoctor.report import trace

        return trace.render(exhibit)
    from ddpdoctor.report import terminal

    text = terminal.render(report, options.screen(sys.stdout, environ), bundle=bundle, directory=directory)
    return f"\n{text}\n" if sys.stdout.isatty() else text


def write(target: str, text: str) -> None:
    """Write a report to a file, whole or not at all; `-` is standard output. Raises InputError."""
    if target == STDOUT:
        show(text)
        return
    try:
        replace(Path(target), text)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}", hint="name a file in an existing folder") from None


def show(text: str) -> None:
    """Write to standard output, as UTF-8 whatever the locale: what is drawn for people keeps to it already."""
    sys.stdout.flush()
    raw = getattr(sys.stdout, "buffer", None)
    if raw is None:  # a program that embeds us has put a stream of text in its place
        sys.stdout.write(text)
        return
    raw.write(text.encode("utf-8", "replace"))
    raw.flush()


def replace(path: Path, text: str) -> None:
    """Write the file under another name first, so that no reader sees a part of it. Raises OSError.

    What is no regular file, such as a pipe or `/dev/stdout`, is written to directly.
    """
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8", errors="replace")
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_text(text, encoding="utf-8", errors="replace")
        partial.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise
