"""Pure. Applying the edits of findings to source text."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ddpdoctor.model.finding import Applicability, Edit, Finding


def fixable(findings: Iterable[Finding], *, unsafe: bool) -> list[Finding]:
    """Findings whose fix may be applied."""
    return [
        f
        for f in findings
        if f.fix is not None and (unsafe or f.fix.applicability is Applicability.SAFE) and f.fix.edits
    ]


def apply(text: str, findings: Iterable[Finding], *, unsafe: bool) -> tuple[str, int]:
    """(new text, number of findings fixed). Fixes that overlap an earlier one wait for the next run."""
    starts = _line_starts(text)
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
        text = text[:start] + content + text[end:]
    return text, count


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _span(edit: Edit, starts: list[int], length: int) -> tuple[int, int, str]:
    start = starts[min(edit.line - 1, len(starts) - 1)] + edit.column - 1
    end = starts[min(edit.end_line - 1, len(starts) - 1)] + edit.end_column - 1
    return min(start, length), min(end, length), edit.content


def diff(path: str, before: str, after: str) -> str:
    """A unified diff of one file."""
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), path, path)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)
