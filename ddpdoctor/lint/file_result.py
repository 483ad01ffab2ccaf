"""What lint knows of one file: its findings, and the lines that they are about. Impure: reads files.

What the cache has of a file is told without anything that analyses one.
"""

from __future__ import annotations

from collections.abc import Mapping

from ddpdoctor.lint.cache import Cache
from ddpdoctor.lint.files import read_file
from ddpdoctor.model.finding import Finding, source_of
from ddpdoctor.model.record import field, record
from ddpdoctor.program import notebook, source

#: how the names of notebooks end
NOTEBOOK = ".ipynb"


@record(frozen=True, slots=True)
class FileResult:
    """Findings of one file, and the text that contains their lines, for code frames: of the file, or of
    notebook cells.
    """

    path: str
    findings: tuple[Finding, ...]
    texts: Mapping[str, str] = field(default_factory=dict)
    #: deferred findings, which other files of the project have to confirm
    unsure: tuple[Finding, ...] = ()
    #: how many hints there are that are not shown
    hints: int = 0


def in_order(finding: Finding) -> tuple[str, int, int, str]:
    return (finding.file, finding.line, finding.column, finding.code)


def cached(cache: Cache, path: str, *, named: bool) -> FileResult | None:
    """What the cache holds of a file; None if it has to be analysed."""
    raw = read_file(path)
    entry = cache.find(path, raw, named=named) if raw is not None else None
    if raw is None or entry is None:
        return None
    if not entry.findings and not entry.unsure:
        return FileResult(path, (), hints=entry.hints)
    decoded = decode(path, raw)
    texts = texts_of(path, decoded) if isinstance(decoded, source.DecodedSource) else {}
    return FileResult(path, entry.findings, texts, entry.unsure, entry.hints)


def decode(path: str, raw: bytes) -> source.DecodedSource | source.Unreadable:
    """The text of a file, or of the cells of a notebook."""
    return notebook.decode(raw) if path.endswith(NOTEBOOK) else source.decode(raw)


def texts_of(path: str, decoded: source.DecodedSource) -> Mapping[str, str]:
    """What contains the lines of findings, by name: the file, or each cell of a notebook."""
    if not decoded.cells:
        return {path: decoded.text}
    texts: dict[str, list[str]] = {}
    for (cell, _), line in zip(decoded.cells, decoded.shown, strict=True):
        texts.setdefault(source_of(path, cell), []).append(line)
    return {name: "\n".join(lines) for name, lines in texts.items()}
