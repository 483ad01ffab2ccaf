"""One fault, one finding: at its cause, and once for all copies of a file.

Impure: asks for the working directory, below which paths are the same however they are written.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Set

from ddpdoctor.lint.own_rules import UNREADABLE
from ddpdoctor.model.finding import Finding, Related, RelatedRole, Severity
from ddpdoctor.model.record import replace


def left_out(findings: list[Finding]) -> tuple[Finding, ...]:
    """Without findings about other files' lines if one of those files reports the same; a hint there gives way to
    what another file proves. Several that one line comes to in another file are one.
    """
    findings = _unparsed(findings)
    moved = [f for f in findings if _moved(f)]
    if not moved:
        return tuple(findings)
    meant = {f: {(f.code, os.path.relpath(r.file), r.line) for r in f.related} for f in moved}
    proved = {place for f in moved if f.severity is not Severity.HINT for place in meant[f]}
    kept = [f for f in findings if f in meant or not _is_hint_at(f, proved)]
    reported = {_place(f) for f in kept if f not in meant}
    return tuple(_of_one_line(_at_cause([f for f in kept if f not in meant or not meant[f] & reported])))


def _unparsed(findings: list[Finding]) -> list[Finding]:
    """The files that this Python does not parse as one finding, at the first of them, where they are many: they are
    written for another Python."""
    many = [f for f in findings if f.code == UNREADABLE.code and f.message.startswith(_OTHER_PYTHON)]
    many = [f for f in many if f.severity is Severity.WARNING]
    if len(many) <= _FEW:
        return findings
    first, *others = many
    related = tuple(Related(f.file, f.line, f.message, f.cell) for f in others[:_CALLERS])
    message = f"{first.message} (and {len(others)} more files do not parse)"
    told = replace(first, message=message, related=(*first.related, *related))
    left_out = {id(f) for f in others}
    return [told if f is first else f for f in findings if id(f) not in left_out]


#: how the message of a file begins that the Python in which lint runs does not parse
_OTHER_PYTHON = "does not parse with"
#: so many of them are told one by one
_FEW = 3


def _moved(finding: Finding) -> bool:
    """Whether it is about other files' lines."""
    return any(place.role is RelatedRole.MEANT for place in finding.related)


def _is_hint_at(finding: Finding, places: Set[tuple[str, str, int]]) -> bool:
    return finding.severity is Severity.HINT and _place(finding) in places


#: further callers that a finding names
_CALLERS = 20


def _at_cause(findings: list[Finding]) -> list[Finding]:
    """Findings about one line of another file as one, at the first of its callers, which names the others."""
    by_cause: dict[tuple[str, str, int], list[Finding]] = {}
    for finding in findings:
        cause = _cause(finding)
        if cause is not None:
            by_cause.setdefault(cause, []).append(finding)
    kept: list[Finding] = []
    for finding in findings:
        cause = _cause(finding)
        same = by_cause[cause] if cause is not None else [finding]
        if finding is same[0]:
            others = tuple(Related(f.file, f.line, "from here as well") for f in same[1 : _CALLERS + 1])
            more = f" (and from {len(same) - 1} more places)" if len(same) > 1 else ""
            kept.append(replace(finding, message=finding.message + more, related=(*finding.related, *others)))
    return kept


def _of_one_line(findings: list[Finding]) -> list[Finding]:
    """Findings of a rule at one line that are about lines of one other file as one, which names those."""
    by_line: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        if (cause := _cause(finding)) is not None:
            by_line.setdefault((*cause[:2], finding.file, finding.line, finding.condition), []).append(finding)
    alike = {id(same[0]): same[1:] for same in by_line.values()}
    left_out = {id(other) for others in alike.values() for other in others}
    return [_with_more(finding, alike.get(id(finding), [])) for finding in findings if id(finding) not in left_out]


def _with_more(finding: Finding, others: list[Finding]) -> Finding:
    if not others:
        return finding
    places = (next(r for r in other.related if r.role is RelatedRole.MEANT) for other in others[:_CALLERS])
    related = tuple(Related(place.file, place.line, "and here") for place in places)
    more = f" (and at {len(others)} more line{'s' if len(others) > 1 else ''} there)"
    return replace(finding, message=finding.message + more, related=(*finding.related, *related))


def _cause(finding: Finding) -> tuple[str, str, int] | None:
    """The place that a finding is about, if it is in another file; severities are kept apart."""
    place = next((r for r in finding.related if r.role is RelatedRole.MEANT), None)
    return (
        (f"{finding.code} {finding.severity}", os.path.relpath(place.file), place.line) if place is not None else None
    )


def _place(finding: Finding) -> tuple[str, str, int]:
    return finding.code, os.path.relpath(finding.file), finding.line


def told_once(findings: tuple[Finding, ...], texts: Mapping[str, str]) -> tuple[Finding, ...]:
    """As people are told: once what is said twice of a line, and once what is said of several copies of a file.

    Whoever applies fixes needs them all. `texts` contains the files by `Finding.source`.
    """
    first: dict[tuple[object, ...], Finding] = {}
    others: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        said = (finding.code, finding.severity, finding.line, finding.message, finding.condition, finding.cell)
        key = (texts.get(finding.source, finding.file), *said)
        if key not in first:
            first[key] = finding
        elif finding.file != first[key].file:
            others.setdefault(key, []).append(finding)
    return tuple(_of_copies(finding, others.get(key, [])) for key, finding in first.items())


def _of_copies(finding: Finding, others: list[Finding]) -> Finding:
    files = list(dict.fromkeys(other.file for other in others))
    if not files:
        return finding
    copies = tuple(Related(other.file, other.line, "a copy of this file", other.cell) for other in others[:_CALLERS])
    more = f" (and in {len(files)} cop{'ies' if len(files) > 1 else 'y'} of this file)"
    return replace(finding, message=finding.message + more, related=(*finding.related, *copies))
