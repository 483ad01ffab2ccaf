"""Every command line of ours in the documents is one that the program accepts, and every block is what it says."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

from ddpdoctor.cli import main, options
from ddpdoctor.errors import UsageError

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCED = re.compile(r"^( *)```(\w*).*?\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(ddpdoctor\s[^`]+)`")
#: languages in which whole lines are commands; in a console those behind a prompt
_SHELLS = ("bash", "yaml")
_OPERATORS = frozenset("|;&<>()")


def _shown(text: str) -> Iterator[str]:
    """Whole command lines: of consoles, scripts and workflows."""
    for _, language, block in _FENCED.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            command = line.removeprefix("$ ") if language == "console" else line.strip()
            if "ddpdoctor" in line and (language in _SHELLS or command != line):
                # a list of words in a manifest
                yield re.sub(r"\[(ddpdoctor, .*)\]", lambda found: found[1].replace(",", " "), command)


def _ours(line: str) -> Iterator[list[str]]:
    """The arguments of each call of `ddpdoctor` in a command line, also in what it hands to another shell."""
    lexer = shlex.shlex(re.sub(r"\b2>", ">", line), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    for at, word in enumerate(words):
        if word == "ddpdoctor" and (at + 1 == len(words) or words[at + 1] != "\\"):
            rest = words[at + 1 :]
            ends = [i for i, other in enumerate(rest) if set(other) <= _OPERATORS]
            yield rest[: ends[0] if ends else None]
        elif "ddpdoctor " in word:
            yield from _ours(word)


def _refused(argv: list[str]) -> str:
    """What the program says against the arguments, "" if nothing."""
    try:
        if argv and argv[0] in main.COMMANDS:
            name, *rest = argv
            options.parse(main.parser_of(name), options.split_command(rest)[0] if name in ("watch", "check") else rest)
        else:
            options.parse(main.top_parser(), argv)
    except UsageError as error:
        return error.message
    except SystemExit:  # --help, --version
        return ""
    return ""


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_command_lines_are_accepted(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls = [argv for line in _shown(path.read_text(encoding="utf-8")) for argv in _ours(line) if argv]
    assert [(argv, said) for argv in calls if (said := _refused(argv))] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_named_in_sentences_exist(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They may lack arguments, and have optional ones in brackets."""
    prose = _FENCED.sub("", path.read_text(encoding="utf-8"))
    named = [re.sub(r"[][]", "", " ".join(found.split())) for found in _INLINE.findall(prose)]
    said = [(words, _refused(argv)) for words in named for argv in _ours(words)]
    assert [(words, why) for words, why in said if why and "required" not in why] == []


def test_the_test_finds_what_is_there() -> None:
    text = """\
```console
$ A=1 ddpdoctor lint -o x 2>&1 | wc  # all
ddpdoctor output
```
```bash
srun bash -c 'ddpdoctor watch --bundl d -- a'
```
"""
    calls = [argv for line in _shown(text) for argv in _ours(line)]
    assert calls == [["lint", "-o", "x"], ["watch", "--bundl", "d", "--", "a"]]
    assert [bool(_refused(argv)) for argv in calls] == [True, True]
    assert sum(1 for path in PAGES for line in _shown(path.read_text(encoding="utf-8")) for _ in _ours(line)) > 90


def _toml(text: str) -> object:
    read: object = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli").loads(text)
    return read


def _yaml(text: str) -> object:
    read: object = pytest.importorskip("yaml", reason="accelerate, of the extra `dev`, brings it").safe_load(text)
    return read


def _bash(text: str) -> None:
    ended = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, timeout=60)
    assert ended.stderr == ""


#: each raises if a text is not of its language
READERS: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "toml": _toml,
    "yaml": _yaml,
    "bash": _bash,
}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_blocks_are_of_the_language_that_they_name(path: Path) -> None:
    for indent, language, block in _FENCED.findall(path.read_text(encoding="utf-8")):
        if language in READERS:
            READERS[language](textwrap.dedent(block) if indent else block)
