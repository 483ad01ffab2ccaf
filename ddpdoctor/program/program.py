"""The source of a job as its evidence holds it: each file is parsed once, when it is first asked for. Pure."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ddpdoctor.program.modules import Module
from ddpdoctor.program.project import Project

if TYPE_CHECKING:  # lint asks about nodes alone, and should not load what evidence consists of
    from ddpdoctor.model.evidence import SourceFile


class Program:
    """The source files of one look at a job, by path.

    A file that is unknown, was changed after the job started, or is stored only in part counts as missing.
    """

    def __init__(self, code: Mapping[str, SourceFile]) -> None:
        self._code = code
        self._lines: dict[str, list[str]] = {}
        self._whole = {path for path, file in code.items() if not file.changed and file.first == 1}
        size = sum(len(code[path].text) for path in self._whole)
        self.project = Project(self._read, self._whole.__contains__, followed=size, rootless=True)

    def __contains__(self, file: object) -> bool:
        return file in self._code

    def __iter__(self) -> Iterator[str]:
        return iter(self._code)

    def module(self, file: str) -> Module | None:
        """The file's index; None if it is missing or does not parse."""
        return self.project.file(file, self.project.package(file)[1]) if file in self._whole else None

    def tree(self, file: str) -> ast.Module | None:
        """The file's syntax tree; None if there is none."""
        module = self.module(file)
        return module.tree if module is not None else None

    def line_text(self, file: str, line: int) -> str:
        """The line without its indentation; "" if it is not known."""
        source = self._code.get(file)
        if source is None or source.changed:
            return ""
        lines = self._lines.get(file)
        if lines is None:
            lines = self._lines[file] = source.text.split("\n")
        index = line - source.first
        return lines[index].strip() if 0 <= index < len(lines) else ""

    def statement_text(self, file: str, line: int) -> str:
        """The same without a comment, and without the colon that opens a block: what is quoted in a sentence."""
        text = self.line_text(file, line)
        return text[: _comment_at(text)].rstrip().rstrip(":")

    def _read(self, path: str) -> str | None:
        return self._code[path].text if path in self._whole else None


def _comment_at(text: str) -> int:
    """Where the comment of a line begins; its length if there is none, or if the line is part of a longer string."""
    try:
        for token in tokenize.generate_tokens(iter([text]).__next__):
            if token.type == tokenize.COMMENT:
                return token.start[1]
    except (tokenize.TokenError, IndentationError, SyntaxError, StopIteration):
        pass  # an open bracket goes on in the next line
    return len(text)
