"""Impure. The program: selects the subcommand, and turns every error into one line and an exit status."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from types import ModuleType
from typing import NoReturn

import ddpdoctor
from ddpdoctor.cli import options
from ddpdoctor.errors import DoctorError, ExitCode, UsageError

#: in the order of `ddpdoctor --help`; each is a module of this package with add_arguments(parser) and run(args)
COMMANDS = {
    "watch": "run a distributed job and report which rank breaks it, where and why",
    "dump": "say why a job that nobody wrapped hangs now, from outside",
    "diagnose": "diagnose a job that has ended from the evidence it left",
    "report": "write a verdict that was kept as HTML, Markdown, JSON, JUnit or a trace",
    "lint": "find hangs and silent mistakes in source, before the launch",
    "check": "look for what would make a job fail, hang, or be hard to diagnose on this machine",
    "repro": "run real jobs with a known fault and check the diagnosis",
    "config": "show the settings of watch, and where each comes from",
    "completion": "print a script that completes commands and options in a shell",
    "explain": "explain a code such as DD201 and its fix",
}

#: commands that take another command after `--`
_TAKES_COMMAND = frozenset({"watch", "check"})

_EPILOG = """examples:
  ddpdoctor watch -- torchrun --nproc-per-node 4 train.py
  ddpdoctor repro run uneven-inputs

`ddpdoctor COMMAND --help` lists options. Exit status: see each command; 2 invalid arguments, 125 ddpdoctor failed."""

_INTERRUPTED = 130
_BROKEN_PIPE = 141


def entry() -> NoReturn:
    """The console script."""
    sys.exit(main(sys.argv[1:]))


def main(argv: list[str]) -> int:
    """Run one command line and return its exit status; never raises."""
    _open_closed_streams()
    try:
        status = _run(argv)
        sys.stdout.flush()
        return status
    except SystemExit as ended:
        # argparse's own --help and --version
        return int(ended.code or 0)
    except DoctorError as error:
        _say(f"error: {error.message}{f' - {error.hint}' if error.hint else ''}")
        return int(error.exit_code)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # the reader has closed the pipe; without this Python fails again when it flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return _BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - boundary: the last one, so that a person gets a report and not a traceback
        from ddpdoctor.cli import crash_report

        _say(crash_report.describe(error, argv))
        return int(ExitCode.INTERNAL)


def parser_of(name: str) -> options.Parser:
    """The parser of one subcommand; imports its module."""
    parser = options.Parser(prog=f"ddpdoctor {name}", description=_sentence(COMMANDS[name]))
    _command_module(name).add_arguments(parser)
    return parser


def _command_module(name: str) -> ModuleType:
    # what an import makes stays: to look for garbage among it took a twentieth of the time in which one file is linted
    collects = gc.isenabled()
    gc.disable()
    try:
        return importlib.import_module(f"ddpdoctor.cli.{name}")
    finally:
        if collects:
            gc.enable()


def top_parser() -> options.Parser:
    """The parser of `ddpdoctor` itself: it knows the subcommands' names and imports none of them."""
    parser = options.Parser(prog="ddpdoctor", description=ddpdoctor.__doc__ or "")
    parser.usage = "ddpdoctor COMMAND ..."
    parser.add_argument("--version", action="version", version=f"ddpdoctor {ddpdoctor.__version__}")
    listed = "\n".join(f"  {name:<12}{summary}" for name, summary in COMMANDS.items())
    parser.epilog = f"commands:\n{listed}\n\n{_EPILOG}"
    return parser


def _run(argv: list[str]) -> int:
    name, rest = (argv[0], argv[1:]) if argv else ("", [])
    if name in COMMANDS:
        return _run_command(name, rest)
    parser = top_parser()
    if not argv:
        parser.print_help()
        return int(ExitCode.USAGE)
    if name.startswith("-"):
        options.parse(parser, argv)
    guess = options.closest(name, COMMANDS)
    commands = f"commands are {', '.join(COMMANDS)}; see `ddpdoctor --help`"
    hint = f"did you mean `ddpdoctor {guess}`?" if guess else commands
    raise UsageError(f"unknown command {name!r}", hint=hint)


def _run_command(name: str, argv: list[str]) -> int:
    parser = parser_of(name)
    command: tuple[str, ...] | None = None
    if name in _TAKES_COMMAND:
        # argparse's REMAINDER keeps the "--" and takes options after it for ours
        argv, command = options.split_command(argv)
        if name == "watch" and not {"-h", "--help"} & set(argv):
            _check_command(argv, command)
    if name == "watch" and not {"-h", "--help"} & set(argv):
        from pathlib import Path

        from ddpdoctor.cli import watch_settings

        parser.set_defaults(**watch_settings.defaults(os.environ, Path.cwd()))
    args = options.parse(parser, argv)
    if command is not None:
        args.command = command
    return int(_command_module(name).run(args))


def _check_command(argv: list[str], command: tuple[str, ...] | None) -> None:
    example = "`ddpdoctor watch -- torchrun --nproc-per-node 4 train.py`"
    if command is None:
        words = " ".join(argv) or "torchrun ..."
        raise UsageError("no `--` before the command to watch", hint=f"type `ddpdoctor watch -- {words}`")
    if not command or not command[0]:
        raise UsageError("no command after `--`", hint=f"for example {example}")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _open_closed_streams() -> None:
    """Python has None for a stream that was closed at the start (`2>&-`): open a substitute that discards
    everything."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open as long as the program


def _say(text: str) -> None:
    """Print a line on stderr; ignored if stderr is closed."""
    try:
        print(f"ddpdoctor: {text}", file=sys.stderr)
    except OSError:
        return
