"""Impure. Adds lint's findings at the lines that a report names: the same fault, seen in the source."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping
from pathlib import Path

from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Location
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.model.report import Report

#: seconds; a verdict is not delayed for longer
WITHIN = 4.0
#: the note in a report without them
UNFINISHED = "lint's findings are missing: reading the files took longer than {:g} s"
#: files that are linted for one report
_MOST_FILES = 6
_MOST_DIAGNOSES = 3
#: findings that one diagnosis cites
_MOST_CITED = 2


def with_lint_findings(report: Report, *, within: float = WITHIN) -> Report:
    """The report with lint's findings at the lines of its diagnoses; unchanged if lint fails.

    Only the source in the report is read, so that the replay of a bundle cites the same findings. If lint takes too
    long, a note says that they are missing.
    """
    wanted = _files(report)
    if not wanted:
        return report
    found: dict[str, tuple[Finding, ...]] = {}
    thread = threading.Thread(target=_lint, args=(wanted, report.code, found), daemon=True)
    thread.start()
    thread.join(within)
    if thread.is_alive():
        return dataclasses.replace(report, notes=(*report.notes, UNFINISHED.format(within)))
    diagnoses = tuple(_located(_citing(diagnosis, found), report, found) for diagnosis in report.diagnoses)
    return dataclasses.replace(report, diagnoses=diagnoses)


def _files(report: Report) -> list[str]:
    """Files of the diagnoses, the most relevant first, and those beside them; none that was modified after the job's
    start.
    """
    named = [place.file for diagnosis in report.diagnoses[:_MOST_DIAGNOSES] for place in diagnosis.locations]
    folder = Path(named[0]).parent if named else None
    beside = [name for name in report.code if folder is not None and folder in Path(name).parents]
    there = [name for name in dict.fromkeys((*named, *beside)) if name in report.code and not report.code[name].changed]
    return there[:_MOST_FILES]


def _lint(wanted: list[str], code: Mapping[str, SourceFile], found: dict[str, tuple[Finding, ...]]) -> None:
    from ddpdoctor.lint import registry
    from ddpdoctor.lint.linter import Linter
    from ddpdoctor.lint.settings import Settings

    def read(path: str) -> bytes | None:
        source = code.get(path)
        return source.text.encode(errors="surrogateescape") if source is not None else None

    try:
        linter = Linter(Settings(registry.defaults(), hints=frozenset()), read=read)
        for path in wanted:
            found[path] = linter.bytes(path, read(path) or b"", named=True).findings
    except Exception:  # noqa: BLE001 - boundary: a verdict is reported even if its citations fail
        found.clear()


def _citing(diagnosis: Diagnosis, found: Mapping[str, tuple[Finding, ...]]) -> Diagnosis:
    same = _same(diagnosis)
    findings = [f for place in diagnosis.locations for f in found.get(place.file, ()) if _is_at(f, place, same)]
    return dataclasses.replace(diagnosis, lint=tuple(dict.fromkeys(findings))[:_MOST_CITED])


def _located(diagnosis: Diagnosis, report: Report, found: Mapping[str, tuple[Finding, ...]]) -> Diagnosis:
    """The diagnosis with the place of lint's only finding of this fault first, where its own place tells nothing.

    That is so if all ranks are at one line of the job, which runs a framework's loop: what the framework was told, and
    where, is not on any stack.
    """
    first = next(iter(diagnosis.locations), None)
    places = {(one.location.file, one.location.line) if one.location else None for one in report.ranks}
    alike = first is not None and len(report.ranks) > 1 and places == {(first.file, first.line)}
    if diagnosis.lint or diagnosis.confidence is Confidence.CERTAIN or not alike:
        return diagnosis
    findings = [finding for each in found.values() for finding in each if finding.code in _same(diagnosis)]
    if len(findings) != 1 or findings[0].cell is not None:
        return diagnosis
    (finding,) = findings
    lines = report.code[finding.file].text.splitlines()
    source = lines[finding.line - 1].strip() if finding.line <= len(lines) else ""
    place = Location(diagnosis.culprits, finding.file, finding.line, "", source)
    return dataclasses.replace(diagnosis, lint=(finding,), locations=(place, *diagnosis.locations))


def _same(diagnosis: Diagnosis) -> tuple[str, ...]:
    """The codes of the rules that find the diagnosed fault in the source."""
    from ddpdoctor.diagnose import registry

    return next((r.rule.lint for r in registry.RULES if r.rule.code == diagnosis.code), ())


def _is_at(finding: Finding, place: Location, same: tuple[str, ...]) -> bool:
    """Whether a finding at this line is of the same fault, or is proven."""
    here = finding.line <= place.line <= max(finding.line, finding.end_line)
    if finding.code in same:
        return here or any(r.file == place.file and r.line == place.line for r in finding.related)
    return here and finding.severity is Severity.ERROR
