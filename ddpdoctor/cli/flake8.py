"""Impure. Lint's findings inside of flake8, which loads this by its entry point; configured as `ddpdoctor lint` is."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator, Sequence
from functools import cache

import ddpdoctor
from ddpdoctor.cli import lint_settings
from ddpdoctor.lint.files import read_file
from ddpdoctor.lint.linter import Linter

#: what flake8 calls standard input
_STDIN = ("-", "stdin")


class Plugin:
    """One file, as flake8 hands it out. Which of the codes are told is flake8's to choose."""

    name = "ddpdoctor"
    version = ddpdoctor.__version__

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        """`tree` is what flake8 tells by that this is about whole files; it is parsed once more, with its comments."""
        del tree
        self._filename = filename
        self._lines = lines

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """(line, column from 0, text, plugin) of each finding."""
        raw = None if self._filename in _STDIN else read_file(self._filename)
        if raw is None:
            raw = "".join(self._lines).encode("utf-8", "surrogateescape")
        for finding in _linter().bytes(self._filename, raw, named=False).findings:
            yield finding.line, finding.column - 1, f"{finding.code} {finding.message}", Plugin


@cache
def _linter() -> Linter:
    """One for all files of a process: they use one another."""
    args = argparse.Namespace(
        paths=["."], stdin_filename="", select=[], ignore=[], extend_select=[], torch_version=None, force_exclude=False
    )
    return Linter(*lint_settings.of(args))
