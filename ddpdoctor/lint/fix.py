"""Application of findings' edits to source text. Pure."""

from __future__ import annotations

import codecs
import difflib
import re
from collections.abc import Iterable

from ddpdoctor.model.finding import Applicability, Edit, Finding
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.program.source import DecodedSource

_LINE_END = late_pattern(r"\r\n|\r|\n")


def fixable(findings: Iterable[Finding], *, unsafe: bool) -> list[Finding]:
    """Findings whose fix may be applied."""
    return [
        f
        for f in findings
        if f.fix is not None and (unsafe or f.fix.applicability is Applicability.SAFE) and f.fix.edits
    ]


def apply(text: str, findings: Iterable[Finding], *, unsafe: bool) -> tuple[str, int]:
    """(new text, number of findings fixed). Fixes that overlap an earlier one wait for the next run.

    Line endings are kept; new lines get the text's first line ending.
    """
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    first = _LINE_END.search(text)
    newline = first.group() if first is not None else "\n"
    spans: list[tuple[int, int, str]] = []
    count = 0
    for finding in fixable(findings, unsafe=unsafe):
        assert finding.fix is not None
        mine = [_span(edit, starts, len(text)) for edit in finding.fix.edits]
        if any((a < end and start < b) or (a, b) == (start, end) for a, b, _ in spans for start, end, _ in mine):
            continue
        spans.extend(mine)
        count += 1
    for start, end, content in sorted(spans, reverse=True):
        text = text[:start] + content.replace("\n", newline) + text[end:]
    return text, count


def apply_to_bytes(
    raw: bytes, decoded: DecodedSource, findings: Iterable[Finding], *, unsafe: bool
) -> tuple[bytes, int]:
    """The same for a file's bytes: encoding, byte order mark and line endings are kept."""
    encoding = "utf-8" if decoded.encoding == "utf-8-sig" else decoded.encoding
    mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
    text, count = apply(raw[len(mark) :].decode(encoding), findings, unsafe=unsafe)
    return mark + text.encode(encoding), count


def _span(edit: Edit, starts: list[int], length: int) -> tuple[int, int, str]:
    start = starts[min(edit.line - 1, len(starts) - 1)] + edit.column - 1
    end = starts[min(edit.end_line - 1, len(starts) - 1)] + edit.end_column - 1
    return min(start, length), min(end, length), edit.content


def diff(path: str, before: str, after: str) -> str:
    """A unified diff of one file, as `patch` reads it."""
    lines = difflib.unified_diff(_lines(before), _lines(after), path, path)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """Lines with their endings; a form feed does not end a line."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
