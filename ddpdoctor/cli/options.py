"""Impure. Shared by the subcommands: a parser that raises instead of exiting, the terminal's settings, suggestions."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from ddpdoctor.errors import UsageError

if TYPE_CHECKING:
    from ddpdoctor.report.terminal_text import Screen

#: columns if the stream is not a terminal: a log, a pipe, a CI page
_UNKNOWN_WIDTH = 100
#: the same for help, as argparse has it
_HELP_WIDTH = 80


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal, for which argparse's own imports a package: it is made for each argument."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns(_HELP_WIDTH) - 2)


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageError with one line and a suggestion."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", _Help)
        super().__init__(**settings, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"see `{self.prog} --help`")


def parse(parser: argparse.ArgumentParser, argv: list[str]) -> argparse.Namespace:
    """Parse the arguments; for an unknown option the most similar one is suggested.

    Raises UsageError.
    """
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        option = unknown[0].partition("=")[0]
        guess = closest(option, (o for action in parser._actions for o in action.option_strings))
        hint = f"did you mean `{guess}`?" if guess else f"see `{parser.prog} --help`"
        raise UsageError(f"unknown {'option' if option.startswith('-') else 'argument'} {option!r}", hint=hint)
    return args


def closest(word: str, known: Iterable[str]) -> str:
    """The most similar known word, "" if none is similar."""
    import difflib

    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)), "")


def split_command(argv: list[str]) -> tuple[list[str], tuple[str, ...] | None]:
    """Our own arguments and the command after the first `--`; None if there is no `--`."""
    if "--" not in argv:
        return argv, None
    at = argv.index("--")
    return argv[:at], tuple(argv[at + 1 :])


def screen(stream: TextIO, environ: Mapping[str, str]) -> Screen:
    """Width, colour and character set of a stream.

    NO_COLOR and FORCE_COLOR (no-color.org, force-color.org) decide if they are set and not empty; otherwise colour is
    used on terminals that are not "dumb". Width is the terminal's, or COLUMNS.
    """
    from ddpdoctor.report.terminal_text import Screen  # only where something is drawn: lint starts without it

    terminal = stream.isatty()
    if environ.get("NO_COLOR"):
        color = False
    elif environ.get("FORCE_COLOR"):
        color = True
    else:
        color = terminal and environ.get("TERM", "") not in ("dumb", "")
    measured = terminal or environ.get("COLUMNS", "").isdigit()
    width = _columns(_UNKNOWN_WIDTH) if measured else _UNKNOWN_WIDTH
    encoding = (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "").replace("_", "")
    return Screen(width=width, color=color, unicode=encoding.startswith("utf"))


def _columns(unknown: int) -> int:
    """The width of the terminal that the process was started in, or what COLUMNS says; `unknown` without either."""
    told = os.environ.get("COLUMNS", "")
    if told.isdigit() and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or unknown  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):  # closed, or no terminal
        return unknown
