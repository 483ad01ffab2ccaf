"""Pure. Findings for people: message, code frame with a caret, the other places, whether a fix exists."""

from __future__ import annotations

from collections.abc import Sequence

from ddpdoctor.model.finding import Applicability, Finding
from ddpdoctor.report.findings.plain import Texts, clean, counted

#: lines of source before and after the line of the finding
AROUND = 2
#: characters of a source line shown
LONGEST = 160


def render(findings: Sequence[Finding], texts: Texts) -> str:
    """Each finding with its frame, and one line that counts them; nothing when there are none."""
    if not findings:
        return ""
    blocks = [_block(f, texts.get(f.file, "")) for f in findings]
    fixes = sum(f.fix is not None for f in findings)
    tail = f"Found {counted(findings)}."
    if fixes:
        tail += f" {fixes} can be fixed: see --diff, --fix and --unsafe-fixes."
    return "\n".join([*blocks, tail]) + "\n"


def _block(finding: Finding, text: str) -> str:
    mark = f" [{finding.fix.applicability.value} fix]" if finding.fix is not None else ""
    lines = [f"{finding.code} {finding.name} ({finding.severity.value}){mark}: {clean(finding.message)}"]
    lines.append(f" --> {clean(finding.file)}:{finding.line}:{finding.column}")
    lines.extend(_frame(finding, text.split("\n")) if text else [])
    lines.extend(f"  = {clean(r.file)}:{r.line}: {clean(r.message)}" for r in finding.related)
    if finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE:
        lines.append("  = the fix may change what the program does; --unsafe-fixes applies it")
    return "\n".join([*lines, ""])


def _frame(finding: Finding, source: list[str]) -> list[str]:
    first = max(1, finding.line - AROUND)
    last = min(len(source), finding.line + AROUND)
    width = len(str(last))
    lines = [f"{'':>{width}} |"]
    for number in range(first, last + 1):
        shown = clean(source[number - 1].replace("\t", " "))[:LONGEST]
        lines.append(f"{number:>{width}} | {shown}".rstrip())
        if number == finding.line:
            lines.append(f"{'':>{width}} | {_caret(finding, shown)}")
    return [*lines, f"{'':>{width}} |"]


def _caret(finding: Finding, shown: str) -> str:
    start = min(finding.column - 1, len(shown))
    end = finding.end_column - 1 if finding.end_line == finding.line else len(shown.rstrip())
    return " " * start + "^" * max(1, min(end, len(shown)) - start)
