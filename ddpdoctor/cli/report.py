"""Impure. `ddpdoctor report BUNDLE`: a verdict that was kept, in another form."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ddpdoctor.cli import forms
from ddpdoctor.errors import ExitCode, InputError
from ddpdoctor.model.exhibit import Exhibit

_EPILOG = """examples:
  ddpdoctor report ~/.local/state/ddpdoctor/runs/20261122-123521-13212 -f html -o hang.html
  ddpdoctor report report.json -f markdown
  ddpdoctor report bundle -f trace -o trace.json     # open it in https://ui.perfetto.dev or chrome://tracing

exit status:
  0  the report was written, whatever its verdict
  2  invalid arguments, or no bundle and no report at the path"""

#: bytes of a JSON report that are read
_MOST_BYTES = 512 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    parser.add_argument(
        "path",
        metavar="BUNDLE",
        help="a bundle of `ddpdoctor watch`, or a report that --json wrote (without timeline, graph and trace)",
    )
    forms.add_format(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", default=forms.STDOUT, help="where to write it (default: `-`, stdout)"
    )
    parser.add_argument(
        "--json", metavar="FILE", help="also write the report as JSON to FILE; `-` for stdout, in place of the form"
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Read, render, write. Raises InputError for what is neither a bundle nor a report."""
    path = Path(args.path)
    exhibit = _of_bundle(path) if path.is_dir() else _of_report(path)
    if args.json:
        forms.write(args.json, forms.render("json", exhibit, os.environ))
    if args.json != forms.STDOUT or args.output != forms.STDOUT:
        bundle = args.path if path.is_dir() else ""
        forms.write(args.output, forms.render(args.format, exhibit, os.environ, bundle=bundle))
    return ExitCode.OK


def _of_bundle(folder: Path) -> Exhibit:
    from ddpdoctor import exhibit
    from ddpdoctor.cli.lint_citations import with_lint_findings
    from ddpdoctor.collect import assemble, bundle
    from ddpdoctor.diagnose import engine

    evidence = assemble.assemble(bundle.read(folder))
    return exhibit.of(with_lint_findings(engine.examine(evidence)), evidence)


def _of_report(path: Path) -> Exhibit:
    from ddpdoctor import exhibit
    from ddpdoctor.model.codec import DecodeError
    from ddpdoctor.report import json

    hint = "name a bundle, or a file that --json wrote; `ddpdoctor diagnose` reads everything else"
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES).decode()
        return exhibit.of(json.read(text), None)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", hint=hint) from None
    except (DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a report of ddpdoctor: {error}", hint=hint) from None
