"""Impure. `ddpdoctor lint PATH...`: find the hang before the launch."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ddpdoctor.errors import ExitCode, InputError, UsageError
from ddpdoctor.lint import engine, files, registry, settings
from ddpdoctor.lint.settings import Settings
from ddpdoctor.model.finding import Finding

FORMATS = ("full", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit")

_EPILOG = """examples:
  ddpdoctor lint src/ train.py
  ddpdoctor lint --select DD111,DD112 -o github .

exit status:
  0  nothing found (or --exit-zero)
  1  findings
  2  unusable arguments or configuration"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `lint`."""
    parser.epilog = _EPILOG
    parser.add_argument("paths", metavar="PATH", nargs="*", help="files and folders; `-` reads standard input")
    parser.add_argument("--stdin-filename", metavar="FILE", default="", help="name for what `-` reads")
    parser.add_argument("--select", metavar="CODES", action="append", default=[], help="run only these; ALL for all")
    parser.add_argument("--ignore", metavar="CODES", action="append", default=[], help="do not run these")
    parser.add_argument("--extend-select", metavar="CODES", action="append", default=[], help="run these as well")
    parser.add_argument("-o", "--output-format", metavar="FORMAT", choices=FORMATS, default="full",
                        help=f"one of {', '.join(FORMATS)}")  # fmt: skip
    parser.add_argument("--fix", action="store_true", help="apply safe fixes")
    parser.add_argument("--unsafe-fixes", action="store_true", help="with --fix or --diff: unsafe fixes as well")
    parser.add_argument("--diff", action="store_true", help="show what --fix would change, and change nothing")
    parser.add_argument("--statistics", action="store_true", help="count findings by rule instead of listing them")
    parser.add_argument("--baseline", metavar="FILE", help="report only what FILE does not list; made where missing")
    parser.add_argument("--exit-zero", action="store_true", help="exit 0 in spite of findings")
    parser.add_argument("--torch-version", metavar="X.Y", help="judge APIs by this torch (default: the newest known)")
    parser.add_argument("--jobs", metavar="N", type=int, default=0, help="processes (default: one a core)")


def run(args: argparse.Namespace) -> ExitCode:
    """Lint; raises UsageError and InputError for what cannot be used."""
    if not args.paths:
        raise UsageError("no files or folders to lint", hint="`ddpdoctor lint .` looks at everything below")
    if args.jobs < 0:
        raise UsageError("--jobs must be 1 or more")
    engine.relax_collector()
    chosen, root = _settings(args)
    if "-" in args.paths:
        report = _from_stdin(args, chosen)
    else:
        report = engine.lint(args.paths, chosen, jobs=args.jobs or os.cpu_count() or 1, root=root)
    findings: Sequence[Finding] = report.findings
    if args.baseline:
        findings = _above_baseline(args.baseline, findings)
    if args.diff or args.fix:
        return _fix(args, findings, chosen)
    sys.stdout.write(_rendered(args, findings, report.texts))
    return ExitCode.FOUND if findings and not args.exit_zero else ExitCode.OK


def _settings(args: argparse.Namespace) -> tuple[Settings, str]:
    """Options over configuration over defaults; and the folder that per-file patterns are relative to."""
    found = _pyproject(Path(args.stdin_filename or args.paths[0]))
    table: dict[str, Any] = {}
    root = ""
    if found is not None:
        root, table = str(found[0].parent), settings.from_pyproject(found[1])
    known = registry.names()
    select = _split(args.select) or table.get("select", [])
    extend = [*table.get("extend-select", []), *_split(args.extend_select)]
    ignore = [*([] if args.select else table.get("ignore", [])), *_split(args.ignore)]
    version = args.torch_version or table.get("torch-version")
    codes = settings.choose(known, registry.defaults(), select=select, ignore=ignore, extend=extend)
    return Settings(
        codes,
        {k: tuple(v) for k, v in table.get("per-file-ignores", {}).items()},
        (*settings.DEFAULT_EXCLUDES, *table.get("exclude", [])),
        settings.torch_version(str(version)) if version else (2, 13),
        settings.asked_for(known, select, extend),
    ), root


def _split(given: list[str]) -> list[str]:
    return [part for text in given for part in text.split(",") if part.strip()]


def _pyproject(start: Path) -> tuple[Path, Any] | None:
    """The nearest pyproject.toml at or above the first path that has [tool.ddpdoctor.lint]."""
    try:
        here = start.resolve()
    except (OSError, RuntimeError):
        return None
    for folder in (here, *here.parents):
        path = folder / "pyproject.toml"
        if path.is_file():
            table = _load(path).get("tool", {}).get("ddpdoctor", {}).get("lint")
            if table is not None:
                return path, table
    return None


def _load(path: Path) -> dict[str, Any]:
    # tomllib costs milliseconds that a project without our table need not pay
    try:
        raw = path.read_bytes()
    except OSError:
        return {}
    if b"ddpdoctor" not in raw:
        return {}
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        loaded: dict[str, Any] = toml.loads(raw.decode("utf-8"))
    except ValueError as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from None
    return loaded


def _from_stdin(args: argparse.Namespace, chosen: Settings) -> engine.Report:
    if len(args.paths) > 1:
        raise UsageError("`-` cannot be mixed with other paths")
    name = args.stdin_filename or "<stdin>"
    result = engine.Linter(chosen).bytes(name, sys.stdin.buffer.read(), named=True)
    return engine.Report(result.findings, {name: result.text}, 1)


def _above_baseline(path: str, findings: Sequence[Finding]) -> Sequence[Finding]:
    from ddpdoctor.lint import baseline

    target = Path(path)
    try:
        if not target.exists():
            target.write_text(baseline.write(findings), encoding="utf-8")
            print(f"ddpdoctor: wrote {path} with {len(findings)} findings", file=sys.stderr)
            return ()
        known = baseline.read(target.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot use the baseline {path}: {error}") from None
    return baseline.new(findings, known)


def _rendered(args: argparse.Namespace, findings: Sequence[Finding], texts: Any) -> str:
    if args.statistics:
        return _statistics(findings)
    renderer = import_module(f"ddpdoctor.report.findings.{args.output_format}")
    if args.output_format == "sarif":
        pages = {rule.code: page for rule, page in registry.pages()}
        return str(renderer.render(findings, texts, pages))
    return str(renderer.render(findings, texts))


def _statistics(findings: Sequence[Finding]) -> str:
    counts: dict[tuple[str, str, str], int] = {}
    for f in findings:
        key = (f.code, f.severity.value, f.name)
        counts[key] = counts.get(key, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{count:>6}  {code}  {severity:<7}  {name}\n" for (code, severity, name), count in ordered)


def _fix(args: argparse.Namespace, findings: Sequence[Finding], chosen: Settings) -> ExitCode:
    """Apply or show fixes; what stays is reported as usual."""
    from ddpdoctor.lint import fix, source

    changed: list[str] = []
    for path in dict.fromkeys(f.file for f in findings):
        raw = sys.stdin.buffer.read() if path == "<stdin>" else files.read_file(path)
        mine = [f for f in findings if f.file == path]
        decoded = source.decode(raw) if raw is not None and not path.endswith(".ipynb") else None
        if raw is None or not isinstance(decoded, source.Source):
            continue
        text, count = fix.apply(decoded.text, mine, unsafe=args.unsafe_fixes)
        if not count:
            continue
        if args.diff:
            sys.stdout.write(fix.diff(path, decoded.text, text))
        elif isinstance(source.parse(text), source.Unreadable):
            raise InputError(f"{path}: the fixed source would not parse; nothing was written")
        else:
            _write(path, source.encode(text, decoded, raw))
        changed.append(path)
    if args.diff:
        return ExitCode.FOUND if changed and not args.exit_zero else ExitCode.OK
    report = engine.lint(args.paths, chosen, jobs=1) if changed else engine.Report(tuple(findings), {}, 0)
    left = _above_baseline(args.baseline, report.findings) if args.baseline else report.findings
    sys.stdout.write(_rendered(args, left, report.texts))
    print(f"ddpdoctor: fixed {len(changed)} file{'s' * (len(changed) != 1)}", file=sys.stderr)
    return ExitCode.FOUND if left and not args.exit_zero else ExitCode.OK


def _write(path: str, raw: bytes) -> None:
    try:
        Path(path).write_bytes(raw)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
