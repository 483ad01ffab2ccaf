"""Impure. `ddpdoctor completion SHELL`: a script that completes commands, options and their choices.

It is made from the parsers, and holds all words: completing starts no Python.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from ddpdoctor.errors import ExitCode

_EPILOG = """examples:
  ddpdoctor completion bash > ~/.local/share/bash-completion/completions/ddpdoctor
  ddpdoctor completion zsh > ~/.zfunc/_ddpdoctor      # with fpath+=~/.zfunc before compinit in ~/.zshrc
  ddpdoctor completion fish > ~/.config/fish/completions/ddpdoctor.fish

exit status:
  0  printed
  2  invalid arguments"""

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True)
class Option:
    #: long before short
    spellings: tuple[str, ...]
    said: str
    #: it takes a value; one of these if they are known
    takes_value: bool
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """A command by its words: `lint`, `repro run`."""

    words: tuple[str, ...]
    options: tuple[Option, ...]
    #: what may follow: subcommands, or choices of the first argument
    following: tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads the script")


def run(args: argparse.Namespace) -> ExitCode:
    """Print the script."""
    sys.stdout.write({"bash": bash, "zsh": zsh, "fish": fish}[args.shell](commands()))
    return ExitCode.OK


def commands() -> tuple[Command, ...]:
    """Every command, the program itself first, with no words."""
    from ddpdoctor.cli import main

    own = Command((), _options(main.top_parser()), tuple(main.COMMANDS))
    return (own, *(found for name in main.COMMANDS for found in _below((name,), main.parser_of(name))))


def _below(words: tuple[str, ...], parser: argparse.ArgumentParser) -> Iterator[Command]:
    following: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                yield from _below((*words, name), child)
                following.append(name)
        elif not action.option_strings and action.choices:
            following += map(str, action.choices)
    yield Command(words, _options(parser), tuple(following))


def _options(parser: argparse.ArgumentParser) -> tuple[Option, ...]:
    return tuple(
        Option(
            tuple(sorted(action.option_strings, key=lambda spelling: not spelling.startswith("--"))),
            " ".join((action.help or "").replace("%%", "%").split()),
            action.nargs != 0,
            tuple(map(str, action.choices or ())),
        )
        for action in parser._actions
        if action.option_strings and action.help != argparse.SUPPRESS
    )


def bash(found: tuple[Command, ...]) -> str:
    """Completes files where nothing else is known; after `--` the rest is another command's."""
    cases = []
    for command in found:
        words = [*command.following, *(spelling for option in command.options for spelling in option.spellings)]
        cases.append(f"    {shlex.quote(' '.join(command.words))}) words={shlex.quote(' '.join(words))} ;;")
    subcommands = "|".join(shlex.quote(" ".join(c.words)) for c in found if c.words)
    values = [
        f"    {shlex.quote(' '.join((*command.words, spelling)))}) words={shlex.quote(' '.join(option.choices))} ;;"
        for command in found
        for option in command.options
        for spelling in option.spellings
        if option.choices
    ]
    return _BASH.format(subcommands=subcommands, cases="\n".join(cases), values="\n".join(values) or "    '') ;;")


def zsh(found: tuple[Command, ...]) -> str:
    """bash's function, which zsh runs as it is."""
    return f"#compdef ddpdoctor\nautoload -U +X bashcompinit && bashcompinit\n{bash(found)}"


def fish(found: tuple[Command, ...]) -> str:
    lines = ["complete -c ddpdoctor -f -n '__fish_use_subcommand'"]
    for command in found:
        seen = " and ".join(f"__fish_seen_subcommand_from {word}" for word in command.words).replace(" and ", "; and ")
        when = f"-n {_quoted(seen or '__fish_use_subcommand')}"
        lines += [f"complete -c ddpdoctor {when} -a {_quoted(name)}" for name in command.following]
        lines += [f"complete -c ddpdoctor {when} {_of_fish(option)}" for option in command.options]
    return "\n".join(lines) + "\n"


def _of_fish(option: Option) -> str:
    spelled = [f"-l {s[2:]}" if s.startswith("--") else f"-s {s[1:]}" for s in option.spellings]
    value = f" -x -a {_quoted(' '.join(option.choices))}" if option.choices else " -r" if option.takes_value else ""
    return f"{' '.join(spelled)}{value} -d {_quoted(option.said[:80])}"


def _quoted(text: str) -> str:
    """Between single quotes, in which fish knows two escapes."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


_BASH = """\
_ddpdoctor() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command='' words='' word
  COMPREPLY=()
  for word in "${{COMP_WORDS[@]:1:$((COMP_CWORD-1))}}"; do
    [[ $word == -- ]] && {{ COMPREPLY=($(compgen -f -- "$current")); return; }}
    case "${{command:+$command }}$word" in
    {subcommands}) command="${{command:+$command }}$word" ;;
    esac
  done
  case "${{command:+$command }}$previous" in
{values}
  esac
  if [[ -z $words ]]; then
    case "$command" in
{cases}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ ${{#COMPREPLY[@]}} -eq 0 ]]; then COMPREPLY=($(compgen -f -- "$current")); fi
}}
complete -o filenames -F _ddpdoctor ddpdoctor
"""
