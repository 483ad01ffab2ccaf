"""Comments that suppress findings: `# ddpdoctor: ignore[DD101] reason` and `# noqa: DD101`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ddpdoctor.lint.comments import Comment
from ddpdoctor.lint.comments import read as read_comments
from ddpdoctor.lint.own_rules import UNUSED
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.model.record import record

_IGNORE = late_pattern(r"#\s*ddpdoctor:\s*ignore(?!-file)(?![\w-])\s*(?P<listed>\[(?P<codes>[^\]]*)\])?", re.IGNORECASE)
_NOQA = late_pattern(r"#\s*noqa(?::(?P<codes>\s*[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*))?", re.IGNORECASE)
_CODE = late_pattern(r"[A-Za-z]+[0-9]*(?:-[A-Za-z0-9]+)+|[A-Za-z]+[0-9]+")
_FILE = late_pattern(r"#\s*ddpdoctor:\s*ignore-file", re.IGNORECASE)
_WORDS = late_pattern(r"ddpdoctor|noqa", re.IGNORECASE)
_UNLISTED = late_pattern(r"[\[(:]|DD\d", re.IGNORECASE)


@record(frozen=True, slots=True)
class Suppression:
    """One comment; without codes it means every code."""

    line: int
    column: int
    end_column: int
    codes: tuple[str, ...]
    #: written for ddpdoctor, so it is a finding if unused
    own: bool
    #: the line below a comment on a line of its own: findings that begin there are suppressed, too
    below: int = 0
    #: a `noqa`, which may contain codes of other linters
    shared: bool = False


def read(comments: Iterable[Comment]) -> list[Suppression]:
    """The suppressions in a file's comments."""
    listed = list(comments)
    alone = {comment.line for comment in listed if comment.alone}
    return [found for comment in listed for found in _of(comment, alone)]


def in_text(text: str) -> list[Suppression]:
    """The suppressions in a file's text; most files have no word of one, and need not be tokenized."""
    return read(read_comments(text)) if _WORDS.search(text) else []


def whole_file(comments: Iterable[Comment]) -> bool:
    """Whether a comment excludes the whole file from linting."""
    return any(_FILE.search(comment.text) for comment in comments)


def problem(text: str) -> str:
    """Why an `ignore` suppresses nothing, or not what it seems to; "" if it is correct."""
    match = _IGNORE.search(text)
    if match is None:
        return ""
    if match["listed"] is None:
        # what follows a bare `ignore` is its reason, not a list without brackets
        return "write the codes in brackets: ignore[DD111]" if _UNLISTED.match(text[match.end() :]) else ""
    if _CODE.search(match["codes"]):
        return ""
    return "there is no code in the brackets: write ignore[DD111], or ignore alone"


def _of(comment: Comment, alone: set[int]) -> Iterable[Suppression]:
    for pattern, own in ((_IGNORE, True), (_NOQA, False)):
        match = pattern.search(comment.text)
        if match is None or (own and problem(comment.text)):
            continue
        codes = tuple(_CODE.findall(match["codes"] or ""))
        ours = own or any(c.upper().startswith("DD1") for c in codes)
        start, end = comment.column + match.start() + 1, comment.column + len(comment.text[: match.end()].rstrip()) + 1
        yield Suppression(comment.line, start, end, codes, ours, _below(comment, alone) if own else 0, not own)


def _below(comment: Comment, alone: set[int]) -> int:
    """The first line below a comment on a line of its own, and below further such comments."""
    if not comment.alone:
        return 0
    line = comment.line + 1
    while line in alone:
        line += 1
    return line


def apply(
    findings: list[Finding],
    suppressions: list[Suppression],
    file: str,
    selected: frozenset[str],
    known: Mapping[str, str],
) -> list[Finding]:
    """Findings that remain, and one finding for each of our comments that suppressed nothing.

    `selected`: codes that were run; `known`: every code's name.
    """
    used: dict[Suppression, set[str]] = {}
    kept: list[Finding] = []
    for finding in findings:
        silencer = next((s for s in suppressions if silences(s, finding, (finding.line, finding.end_line))), None)
        if silencer is None:
            kept.append(finding)
        else:
            used.setdefault(silencer, set()).update((finding.code, finding.name))
    if UNUSED.code in selected:
        # a rule that was not run cannot show that a comment is unused
        untried = {word for code, name in known.items() if code not in selected for word in (code, name)}
        own = (suppression for suppression in suppressions if suppression.own)
        kept.extend(_unused_of(own, used, untried, file))
    return kept


def _unused_of(
    suppressions: Iterable[Suppression], used: Mapping[Suppression, set[str]], untried: set[str], file: str
) -> Iterator[Finding]:
    for suppression in suppressions:
        found = used.get(suppression, set())
        judged = [c for c in suppression.codes if not suppression.shared or c.upper().startswith("DD")]
        unused = [c for c in judged if not {c.upper(), c.lower()} & (found | untried)]
        if unused or (not suppression.codes and not found):
            yield _unused(suppression, unused, file)


def silences(suppression: Suppression, what: LintRule | Finding, lines: tuple[int, int]) -> bool:
    """Whether the comment names the rule and is on one of the lines, first to last, or directly above them."""
    if not lines[0] <= suppression.line <= max(lines) and suppression.below != lines[0]:
        return False
    return not suppression.codes or any(c.upper() == what.code or c.lower() == what.name for c in suppression.codes)


def _unused(suppression: Suppression, unused: Sequence[str], file: str) -> Finding:
    what = ", ".join(unused) or "any rule"
    effect = "suppresses nothing" if len(unused) == len(suppression.codes) else f"does not need {what}"
    return Finding(
        UNUSED.code, UNUSED.name, UNUSED.severity, file, suppression.line, suppression.column, suppression.line,
        suppression.end_column, f"this comment {effect}: there is no finding of {what} here",
        advice=UNUSED.advice,
    )  # fmt: skip
