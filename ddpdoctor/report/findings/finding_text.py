"""Pure. Shared by the formats: text that is safe to show, and the version that reports name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ddpdoctor.model.finding import Finding, Related, Severity
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.model.record import replace

#: `Finding.source` -> its text, for code frames
Texts = Mapping[str, str]

_CONTROL = late_pattern(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)
_LINE_END = re.compile(r"\s*\n\s*")


def clean(text: str) -> str:
    """Without control characters: a file name or a line of source must not control the terminal or reverse its text."""
    return text if text.isprintable() else _CONTROL.sub("?", text)


def line(text: str) -> str:
    """The same, on one line."""
    return clean(_LINE_END.sub(" ", text))


def without_cell(finding: Finding) -> Finding:
    """For formats with files and lines only: the notebook's first line, and the cell in the message.

    A line of a cell is not a line of the notebook's file, and a wrong place is worse than none.
    """
    related = tuple(_related_without_cell(r) for r in finding.related)
    if finding.cell is None:
        return finding if related == finding.related else replace(finding, related=related)
    message = f"cell {finding.cell}, line {finding.line}: {finding.message}"
    return replace(finding, line=1, column=1, end_line=1, end_column=1, message=message, related=related)


def _related_without_cell(related: Related) -> Related:
    if related.cell is None:
        return related
    return replace(related, line=1, message=f"cell {related.cell}, line {related.line}: {related.message}")


def counted(findings: Sequence[Finding]) -> str:
    """`2 errors, 1 warning`."""
    parts = []
    for severity in Severity:
        number = sum(f.severity is severity for f in findings)
        if number:
            parts.append(f"{number} {severity.value}{'s' if number > 1 else ''}")
    return ", ".join(parts)
