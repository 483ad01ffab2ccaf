"""Pure. Findings for readers: message, code frame with a caret, related places, whether a fix exists."""

from __future__ import annotations

from collections.abc import Sequence

from ddpdoctor.model.finding import Applicability, Finding, Severity
from ddpdoctor.report.findings.finding_text import Texts, clean, counted, line
from ddpdoctor.report.terminal_text import Style, Tint, columns

#: lines of source before and after the line of the finding
AROUND = 2
#: characters of a source line that are shown, and of those before a finding that begins further right
LONGEST, BEFORE = 160, 40
_CUT = "..."
_TAB = 4

_TINTS = {Severity.ERROR: Tint.ALARM, Severity.WARNING: Tint.WARN, Severity.HINT: Tint.CODE}


def render(findings: Sequence[Finding], texts: Texts, *, color: bool = False) -> str:
    """Each finding with its frame, and one line with their number; nothing if there are none."""
    if not findings:
        return ""
    style = Style(color)
    lines: dict[str, list[str]] = {}
    blocks: list[str] = []
    for f in findings:
        if f.source in texts and f.source not in lines:
            lines[f.source] = texts[f.source].split("\n")
        blocks.append(_block(f, lines.get(f.source, []), style))
    fixes = sum(f.fix is not None for f in findings)
    tail = f"Found {counted(findings)}."
    if fixes:
        tail += f" {fixes} can be fixed: see --diff, --fix and --unsafe-fixes."
    return "\n".join([*blocks, tail]) + "\n"


def _block(finding: Finding, source: Sequence[str], style: Style) -> str:
    mark = f" [{finding.fix.applicability.value} fix]" if finding.fix is not None else ""
    code = style.paint(finding.code, _TINTS[finding.severity])
    head = f"{style.paint(finding.name, Tint.LABEL)} ({finding.severity.value}){mark}"
    lines = [f"{code} {head}: {line(finding.message)}"]
    lines.append(f" {style.paint('-->', Tint.FAINT)} {line(finding.source)}:{finding.line}:{finding.column}")
    if finding.line <= len(source):
        lines.extend(_frame(finding, source, style))
    lines.extend(
        f"  {style.paint('=', Tint.FAINT)} {line(r.source)}:{r.line}: {line(r.message)}" for r in finding.related
    )
    advice = f"{finding.advice} (`ddpdoctor explain {finding.code}`)"
    lines.append(f"  {style.paint('=', Tint.FAINT)} help: {line(advice)}")
    if finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE:
        lines.append(
            f"  {style.paint('=', Tint.FAINT)} the fix may change what the program does; --unsafe-fixes applies it"
        )
    return "\n".join([*lines, ""])


def _frame(finding: Finding, source: Sequence[str], style: Style) -> list[str]:
    """The finding's first line and those around it, with carets below the relevant part."""
    first, last = max(1, finding.line - AROUND), min(len(source), finding.line + AROUND)
    width = len(str(last))

    def row(number: str, text: str) -> str:
        return f"{style.paint(f'{number:>{width}} |', Tint.FAINT)} {text}".rstrip()

    lines = [row("", "")]
    for number in range(first, last + 1):
        text = source[number - 1]
        start, stop = _marked(finding, text) if number == finding.line else (0, 0)
        shown, before, below = _cut(text, start, stop)
        lines.append(row(str(number), shown))
        if number == finding.line:
            lines.append(row("", " " * before + style.paint("^" * below, _TINTS[finding.severity])))
    return [*lines, row("", "")]


def _marked(finding: Finding, text: str) -> tuple[int, int]:
    """Where the finding begins and ends in its first line, in characters; one over several lines ends with the line."""
    start = min(finding.column - 1, len(text))
    stop = finding.end_column - 1 if finding.end_line == finding.line else len(text.rstrip())
    return start, max(min(stop, len(text)), start + 1)


def _cut(text: str, start: int, stop: int) -> tuple[str, int, int]:
    """The shown part of the line, the columns before the marked part, and the columns of that."""
    left = max(0, start - BEFORE) if stop > LONGEST else 0
    right = left + LONGEST
    before = (_CUT if left else "") + _shown(text[left:start])
    marked = _shown(text[start : min(stop, right)])
    behind = _shown(text[max(start, min(stop, right)) : right]) + (_CUT if len(text) > right else "")
    return before + marked + behind, columns(before), max(columns(marked), stop > start)


def _shown(text: str) -> str:
    """Sanitised, with a known width."""
    return clean(text.replace("\t", " " * _TAB))
