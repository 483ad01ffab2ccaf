"""Pure. One line a finding: `file:line:column: CODE message`."""

from __future__ import annotations

from collections.abc import Sequence

from ddpdoctor.model.finding import Finding
from ddpdoctor.report.findings.plain import Texts, clean, counted


def render(findings: Sequence[Finding], texts: Texts) -> str:
    """A line for each finding and one that counts them; nothing when there are none."""
    del texts
    lines = [clean(f"{f.file}:{f.line}:{f.column}: {f.code} {f.name}: {f.message}") for f in findings]
    return "\n".join([*lines, f"Found {counted(findings)}."]) + "\n" if lines else ""
