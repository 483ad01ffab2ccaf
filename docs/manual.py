"""Manual pages (troff), made from the parsers of the commands when a wheel is built: hatch_build.py."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from unittest import mock

import ddpdoctor
from ddpdoctor.cli import main

#: what troff reads as something else: commands, and characters that it draws as typographic ones
_MEANT = str.maketrans({"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"})


def pages(date: str) -> dict[str, str]:
    """Each file's name with its text; `date` is shown at the foot (YYYY-MM-DD)."""
    made = {"ddpdoctor.1": _program(date)}
    for name, summary in main.COMMANDS.items():
        made[f"ddpdoctor-{name}.1"] = _command(name, summary, date)
    return made


def _program(date: str) -> str:
    parser = main.top_parser()
    commands = [
        line
        for name, summary in main.COMMANDS.items()
        for line in (".TP", f".BR ddpdoctor\\-{name} (1)", _text(summary))
    ]
    return _page(
        "ddpdoctor",
        "say why a PyTorch distributed job hangs",
        date,
        [
            *_section("SYNOPSIS", [*_usage(parser)]),
            *_section("DESCRIPTION", [_text(parser.description or ""), *_paragraphs(parser)]),
            *_section("COMMANDS", commands),
            *_section("OPTIONS", [*_actions(parser)]),
            *_blocks(parser, but="commands"),
        ],
    )


def _command(name: str, summary: str, date: str) -> str:
    parser = main.parser_of(name)
    return _page(
        f"ddpdoctor-{name}",
        summary,
        date,
        [
            *_section("SYNOPSIS", [*_usage(parser)]),
            *_section("DESCRIPTION", [_text(parser.description or ""), *_paragraphs(parser)]),
            *_section("OPTIONS", [*_actions(parser)]),
            *_blocks(parser),
        ],
    )


def _page(name: str, summary: str, date: str, sections: list[str]) -> str:
    others = ["ddpdoctor", *(f"ddpdoctor-{other}" for other in main.COMMANDS)]
    also = ", ".join(f"\\fB\\%{_text(other)}\\fR(1)" for other in others if other != name)
    head = [
        f'.TH "{_text(name.upper())}" "1" "{date}" "ddpdoctor {ddpdoctor.__version__}" "User Commands"',
        ".ad l",  # no wide gaps between words
        *_section("NAME", [f"{_text(name)} \\- {_text(summary)}"]),
    ]
    return "\n".join([*head, *sections, *_section("SEE ALSO", [also])]) + "\n"


def _section(title: str, lines: list[str]) -> list[str]:
    return [f".SH {title}", *lines] if lines else []


def _usage(parser: argparse.ArgumentParser) -> Iterator[str]:
    """In one line, which troff wraps: argparse wraps for the terminal that it runs in."""
    with mock.patch.dict(os.environ, COLUMNS="1000"):
        yield _text(parser.format_usage().partition(":")[2])


def _actions(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Arguments, options, and below them those of subcommands."""
    formatter = argparse.HelpFormatter(parser.prog)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                summary = next(choice.help or "" for choice in action._choices_actions if choice.dest == name)
                yield from (
                    f".SS {_text(child.prog)}",
                    _text(f"{summary.capitalize()}."),
                    ".PP",
                    *_usage(child),
                    *_actions(child),
                )
        elif action.help != argparse.SUPPRESS:
            told = action.help or ""
            yield from (".TP", _spelled(action, formatter), _text(formatter._expand_help(action) if told else ""))


def _spelled(action: argparse.Action, formatter: argparse.HelpFormatter) -> str:
    """`--json FILE` with the option bold and its value in italics."""
    if not action.option_strings:
        return f"\\fI{_text(str(action.metavar or action.dest))}\\fR"
    value = ""
    if action.nargs != 0:
        default = formatter._get_default_metavar_for_optional(action)
        value = f" \\fI{_text(formatter._format_args(action, default))}\\fR"
    return ", ".join(f"\\fB{_text(spelling)}\\fR{value}" for spelling in action.option_strings)


def _paragraphs(parser: argparse.ArgumentParser) -> Iterator[str]:
    """What the epilog says besides its lists."""
    for paragraph in (parser.epilog or "").split("\n\n"):
        if not paragraph.partition("\n")[0].endswith(":"):
            yield from (".PP", _text(paragraph))


def _blocks(parser: argparse.ArgumentParser, *, but: str = "") -> Iterator[str]:
    """The epilog's lists under their titles, as they are: examples, exit status."""
    for paragraph in (parser.epilog or "").split("\n\n"):
        title, _, listed = paragraph.partition("\n")
        if title.endswith(":") and title != f"{but}:":
            yield from (f".SH {title[:-1].upper()}", ".EX", *map(_line, listed.splitlines()), ".EE")


def _text(said: str) -> str:
    """Running text in one line: where troff finds a line break it finds commands."""
    return _line(" ".join(said.split()))


def _line(said: str) -> str:
    escaped = said.translate(_MEANT)
    return rf"\&{escaped}" if escaped.startswith(".") else escaped
