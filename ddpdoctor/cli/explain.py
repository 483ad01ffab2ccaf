"""Impure. `ddpdoctor explain CODE`: prints the documentation of a rule; needs no network."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping, Sequence

from ddpdoctor.cli import forms, options
from ddpdoctor.errors import ExitCode, UsageError
from ddpdoctor.model.diagnosis import Retry

_EPILOG = """examples:
  ddpdoctor explain DD201
  ddpdoctor explain uneven-inputs
  ddpdoctor explain --all --json codes.json

exit status:
  0  explained
  2  no such code"""


SCHEMA = "ddpdoctor.explain/1"
_CHECKED = "Look for it on this machine: ddpdoctor check"


@dataclasses.dataclass(frozen=True, slots=True)
class CodePage:
    """A rule's documentation: its module's docstring, and references."""

    code: str
    name: str
    text: str
    #: one line each: the lint rule that finds it earlier, the case that shows it
    related: tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    parser.add_argument("code", metavar="CODE", nargs="?", help="a code such as DD201, or a rule's name")
    parser.add_argument("--all", action="store_true", help="print every code, one after the other")
    forms.add_json(parser, "the pages")


def run(args: argparse.Namespace) -> ExitCode:
    """Print the documentation. Raises UsageError for a code that does not exist."""
    known = pages()
    if args.all:
        return _tell(args, known)
    if args.code is None:
        span = f"{known[0].code} to {known[-1].code}"
        hint = f"name one ({span}), as in `ddpdoctor explain DD201`; `ddpdoctor explain --all` prints every one"
        raise UsageError("no code to explain", hint=hint)
    return _tell(args, (_find(args.code, known),))


def _tell(args: argparse.Namespace, told: Sequence[CodePage]) -> ExitCode:
    listed = [dataclasses.asdict(page) for page in told]
    forms.tell(args, {"schema": SCHEMA, "codes": listed}, "\n".join(text_of(page) for page in told))
    return ExitCode.OK


def pages() -> tuple[CodePage, ...]:
    """The documentation of every lint rule, diagnosis and check, sorted by code."""
    from ddpdoctor.checkup import registry as checks
    from ddpdoctor.diagnose import registry as diagnoses
    from ddpdoctor.lint import registry as lint

    cases = _cases()
    found = [
        CodePage(rule.code, rule.name, page, (*_diagnoses(rule.diagnoses), *_seen(cases.get(rule.code, ()))))
        for rule, page in lint.pages()
    ]
    for registered in diagnoses.RULES:
        rule = registered.rule
        others = [name for name in cases.get(rule.code, ()) if name != rule.fixture]
        related = (_again(rule.retry), _lint_rules(rule.lint), *_seen([*filter(None, [rule.fixture]), *others]))
        found.append(CodePage(rule.code, rule.name, registered.documentation, related))
    found += [CodePage(one.check.code, one.check.name, one.documentation, (_CHECKED,)) for one in checks.CHECKS]
    return tuple(sorted(found, key=lambda page: page.code))


def text_of(page: CodePage) -> str:
    """The page as it is printed, in Markdown: code and name as its heading, the docstring, the references."""
    heading = f"# {page.code} {page.name}"
    body = page.text.strip().removeprefix(heading).strip()
    return "\n\n".join((heading, body, *page.related)) + "\n"


def _cases() -> Mapping[str, Sequence[str]]:
    """The repro cases for each diagnosis or lint rule; none if they are not installed."""
    from ddpdoctor.errors import InputError
    from ddpdoctor.repro import catalogue

    found: dict[str, list[str]] = {}
    try:
        for case in catalogue.load_all(catalogue.root()):
            for code in {case.code, case.lint} - {""}:
                found.setdefault(code, []).append(case.name)
    except InputError:
        return {}
    return found


def _seen(names: Sequence[str]) -> tuple[str, ...]:
    return (f"Reproduce it: {', '.join(f'ddpdoctor repro run {name}' for name in names)}",) if names else ()


def _lint_rules(codes: tuple[str, ...]) -> str:
    """The lint rules that find the same bug in the source, or a line that there is none."""
    found = f"Found before the launch by: ddpdoctor lint ({', '.join(codes)})"
    return found if codes else "No lint rule finds it before the launch yet."


def _again(retry: Retry) -> str:
    """What running the job again unchanged would do."""
    told = {
        Retry.FAILS_AGAIN: "the same job fails again",
        Retry.MAY_PASS: "the same job may pass",
        Retry.PASSES_ELSEWHERE: "the same job passes elsewhere, on another host or device",
        Retry.UNKNOWN: "not known",
    }
    return f"Run again without a change: {told[retry]}."


def _diagnoses(codes: tuple[str, ...]) -> tuple[str, ...]:
    return (f"The hang it prevents: {', '.join(f'ddpdoctor explain {code}' for code in codes)}",) if codes else ()


def _find(wanted: str, known: tuple[CodePage, ...]) -> CodePage:
    for page in known:
        if wanted.upper() == page.code or wanted.lower() == page.name:
            return page
    words = [word for page in known for word in (page.code, page.name)]
    begun = [page.code for page in known if len(wanted) > 2 and page.code.startswith(wanted.upper())]
    if begun:
        raise UsageError(f"no rule is called {wanted!r}", hint=f"matching codes are {', '.join(begun)}")
    guess = options.closest(wanted.upper(), words) or options.closest(wanted.lower(), words)
    hint = f"did you mean `ddpdoctor explain {guess}`?" if guess else "every report and lint finding contains a code"
    raise UsageError(f"no rule is called {wanted!r}", hint=hint)
