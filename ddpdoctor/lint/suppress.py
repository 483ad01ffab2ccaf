"""Pure. Comments that silence findings: `# ddpdoctor: ignore[DD101] reason` and `# noqa: DD101`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ddpdoctor.lint.comments import Comment
from ddpdoctor.lint.record import record
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity

UNUSED = LintRule("DD198", "unused-suppression", Severity.WARNING)

_IGNORE = re.compile(r"#\s*ddpdoctor:\s*ignore(?:\[(?P<codes>[^\]]*)\])?")
_NOQA = re.compile(r"#\s*noqa(?::(?P<codes>\s*[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*))?", re.IGNORECASE)
_CODE = re.compile(r"[A-Za-z]+[0-9]+|[a-z]+(?:-[a-z0-9]+)+")
_FILE = re.compile(r"#\s*ddpdoctor:\s*ignore-file")


@record(frozen=True, slots=True)
class Suppression:
    """One comment; no codes means every code."""

    line: int
    column: int
    end_column: int
    codes: tuple[str, ...]
    #: written for this tool, so an unused one is worth a finding
    own: bool


def read(comments: Iterable[Comment]) -> list[Suppression]:
    """What the comments of a file silence."""
    return [found for comment in comments for found in _of(comment.text, comment.line, comment.column)]


def whole_file(comments: Iterable[Comment]) -> bool:
    """Whether the file asks not to be linted at all."""
    return any(_FILE.search(comment.text) for comment in comments)


def _of(comment: str, line: int, column: int) -> Iterable[Suppression]:
    for pattern, own in ((_IGNORE, True), (_NOQA, False)):
        match = pattern.search(comment)
        if match is None or comment[match.end() : match.end() + 5] == "-file":
            continue
        listed = match.group("codes")
        codes = tuple(_CODE.findall(listed)) if listed else ()
        ours = own or any(c.upper().startswith("DD1") for c in codes)
        yield Suppression(line, column + match.start() + 1, column + match.end() + 1, codes, ours)


def apply(
    findings: list[Finding], suppressions: list[Suppression], file: str, selected: frozenset[str]
) -> list[Finding]:
    """Findings that stay, and one for each comment of ours that silenced nothing. `selected`: codes that were run."""
    used: set[Suppression] = set()
    kept: list[Finding] = []
    for finding in findings:
        silencer = next((s for s in suppressions if silences(s, finding, (finding.line, finding.end_line))), None)
        if silencer is None:
            kept.append(finding)
        else:
            used.add(silencer)
    for suppression in suppressions:
        if suppression.own and suppression not in used and _was_tried(suppression, selected):
            kept.append(_unused(suppression, file))
    return kept


def silences(suppression: Suppression, what: LintRule | Finding, lines: tuple[int, int]) -> bool:
    """Whether the comment is about the rule and stands on one of the lines, first to last."""
    if not lines[0] <= suppression.line <= max(lines):
        return False
    return not suppression.codes or any(c.upper() == what.code or c == what.name for c in suppression.codes)


def _was_tried(suppression: Suppression, selected: frozenset[str]) -> bool:
    """A comment for a rule that was not run cannot be called unused."""
    own = [c.upper() for c in suppression.codes if c.upper().startswith("DD1")]
    return UNUSED.code in selected and all(c in selected for c in own)


def _unused(suppression: Suppression, file: str) -> Finding:
    what = ", ".join(suppression.codes) or "any rule"
    return Finding(
        UNUSED.code, UNUSED.name, UNUSED.severity, file, suppression.line, suppression.column, suppression.line,
        suppression.end_column, f"this comment silences nothing: there is no finding of {what} here",
    )  # fmt: skip
