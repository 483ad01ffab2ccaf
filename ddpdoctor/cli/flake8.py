"""Impure. A flake8 plug-in with lint's findings, loaded by its entry point; configured as `ddpdoctor lint` is."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator, Sequence
from functools import cache

import ddpdoctor
from ddpdoctor.cli import lint_settings
from ddpdoctor.lint.files import read_file
from ddpdoctor.lint.linter import Linter

#: flake8's names for standard input
_STDIN = ("-", "stdin")


class Plugin:
    """One file, as flake8 passes it. Which codes are reported is configured in flake8."""

    name = "ddpdoctor"
    version = ddpdoctor.__version__

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        """flake8 requires the parameter `tree` to run a plug-in on whole files; lint parses the file again, with its
        comments."""
        del tree
        self._filename = filename
        self._lines = lines

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """(line, column from 0, text, plugin) for each finding."""
        raw = None if self._filename in _STDIN else read_file(self._filename)
        if raw is None:
            raw = "".join(self._lines).encode("utf-8", "surrogateescape")
        for finding in _linter().bytes(self._filename, raw, named=False).findings:
            yield finding.line, finding.column - 1, f"{finding.code} {finding.message}", Plugin


@cache
def _linter() -> Linter:
    """One linter for all files of a process, so that parsed modules are shared."""
    args = argparse.Namespace(
        paths=["."], stdin_filename="", select=[], ignore=[], extend_select=[], torch_version=None, force_exclude=False
    )
    return Linter(*lint_settings.load_settings(args))
