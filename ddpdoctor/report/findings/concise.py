"""Pure. One line per finding: `file:line:column: CODE message`."""

from __future__ import annotations

from collections.abc import Sequence

from ddpdoctor.model.finding import Finding
from ddpdoctor.report.findings.finding_text import Texts, counted, line
from ddpdoctor.report.terminal_text import Style, Tint


def render(findings: Sequence[Finding], texts: Texts, *, color: bool = False) -> str:
    """A line for each finding and one with their number; nothing if there are none."""
    del texts
    style = Style(color)
    lines = [_line(f, style) for f in findings]
    return "\n".join([*lines, f"Found {counted(findings)}."]) + "\n" if lines else ""


def _line(f: Finding, style: Style) -> str:
    place = f"{style.paint(line(f.source), Tint.LABEL)}:{f.line}:{f.column}"
    return f"{place}: {style.paint(f.code, Tint.ALARM)} {f.name}: {line(f.message)}"
