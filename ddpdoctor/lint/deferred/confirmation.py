"""What the rest of a repository shows of one finding, and where that finding is. Impure: reads files."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ddpdoctor.lint.deferred.launches import Place
from ddpdoctor.lint.files import read_file
from ddpdoctor.model.finding import Finding, RelatedRole, Severity
from ddpdoctor.program import source


class Confirmation(NamedTuple):
    """What the other files show of a finding."""

    #: what is said of it
    said: str
    severity: Severity = Severity.WARNING
    #: what shows it, if it is one place
    at: Place | None = None
    #: what has to hold all the same, as the beginning of the message
    condition: str = ""


def path_of(finding: Finding) -> str:
    return os.path.abspath(finding.file)  # noqa: PTH100 - as the paths of scripts and programs


def places_of(finding: Finding) -> list[tuple[str, int]]:
    """Where a finding is, and what it is about in other files."""
    meant = ((note.file, note.line) for note in finding.related if note.role is RelatedRole.MEANT)
    return [(finding.file, finding.line), *meant]


def trees_at(places: Iterable[tuple[str, int]]) -> Iterator[tuple[ast.AST, int]]:
    """The syntax tree of the file of each place, and its line, of files that can be read."""
    for file, line in places:
        tree = source.tree_of(read_file(os.path.abspath(file)) or b"")  # noqa: PTH100 - as above
        if tree is not None:
            yield tree, line
