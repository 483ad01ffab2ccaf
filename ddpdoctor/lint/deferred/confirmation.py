"""What the rest of a repository shows of one finding, and where that finding is. Impure: reads files."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator

from ddpdoctor.lint.deferred.launches import Place
from ddpdoctor.lint.files import read_file
from ddpdoctor.model.finding import Finding, RelatedRole, Severity
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program import source


class ParsedPlace(NamedTuple):
    """A line of a file, with the file's path and its syntax tree."""

    file: str
    tree: ast.Module
    line: int


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


def others_of(finding: Finding) -> list[tuple[str, int]]:
    """The other places that show the same as a finding."""
    return [(note.file, note.line) for note in finding.related if note.role is RelatedRole.ALSO]


def parsed(places: Iterable[tuple[str, int]]) -> Iterator[ParsedPlace]:
    """Those of the places whose files can be read."""
    for file, line in places:
        path = os.path.abspath(file)  # noqa: PTH100 - as above
        tree = source.tree_of(read_file(path) or b"")
        if tree is not None:
            yield ParsedPlace(path, tree, line)
