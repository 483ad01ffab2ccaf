"""Pure. Findings as a Markdown table, for the summary page of a CI run."""

from __future__ import annotations

from collections.abc import Sequence

from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.report.findings.finding_text import Texts, counted, line

#: rows; such a page holds a megabyte
MOST = 1_000


def render(findings: Sequence[Finding], texts: Texts) -> str:
    """A table, errors first; nothing if there are no findings."""
    del texts
    if not findings:
        return ""
    ranked = sorted(findings, key=lambda f: list(Severity).index(f.severity))
    rows = [
        f"| {f.code} {f.name} | {f.severity.value} | {_cell(f.source)}:{f.line} | {_cell(f.message)} |"
        for f in ranked[:MOST]
    ]
    more = [f"\n{len(ranked) - MOST} more are not shown."] if len(ranked) > MOST else []
    head = [f"### ddpdoctor lint: {counted(findings)}", "", "| rule | | place | finding |", "|---|---|---|---|"]
    return "\n".join([*head, *rows, *more]) + "\n"


def _cell(text: str) -> str:
    """Text that stays in its column and contains no markup."""
    escaped = line(text).replace("\\", "\\\\").replace("|", "\\|").replace("`", "\\`").replace("<", "&lt;")
    return escaped.replace("*", "\\*").replace("_", "\\_")
