"""One story: the verdict of a look, with what was seen of the job before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ddpdoctor.diagnose.codes import UNDECIDED
from ddpdoctor.model.course import Course
from ddpdoctor.model.desync import Desync
from ddpdoctor.model.diagnosis import Deadlock, Diagnosis, Outcome
from ddpdoctor.model.early_sign import EarlySign
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.report import Report

#: what a reader of a warning must know
NO_PROOF = "a warning, no proof: all ranks still move"


def with_course(report: Report, course: Course, code: Mapping[str, SourceFile]) -> Report:
    """The report with the job's course: a hang says since when its ranks had shifted, and a look at a job that moves
    shows the warning that it was taken for. `code` holds the files that the warning may name. Doing so again changes
    nothing."""
    report = replace(report, desync=course.desync, waited=course.waited)
    for sign in course.signs:
        report = _noted(report, early_sign(sign))
    if course.desync is not None and report.outcome in (Outcome.HANG, Outcome.CRASH):
        return _noted(_one_story(report, course.warning, code), _began(course.desync))
    if course.warning is not None and report.outcome in (Outcome.HEALTHY, Outcome.SLOW):
        warned = replace(report, outcome=Outcome.DESYNC, deadlock=Deadlock.NO, diagnoses=(course.warning,))
        return _noted(replace(_with_lines(warned, course.warning, code), not_considered={}), NO_PROOF)
    return report


def _one_story(report: Report, warning: Diagnosis | None, code: Mapping[str, SourceFile]) -> Report:
    """Where the look at a hang does not decide, the warning's cause, if nothing speaks against it: the steps in which
    the ranks parted may be long gone from their histories."""
    if report.outcome is not Outcome.HANG or warning is None or warning.code == UNDECIDED.code:
        return report
    first = next(iter(report.diagnoses), None)
    if first is None or first.code != UNDECIDED.code or warning.culprits not in (RankSet(), first.culprits):
        return report
    same = replace(warning, culprits=first.culprits, culprit_confidence=first.culprit_confidence, waiting=first.waiting)
    locations = dict.fromkeys((*warning.locations, *first.locations))
    told = replace(same, locations=tuple(locations))
    return _with_lines(replace(report, diagnoses=(told, *report.diagnoses[1:])), warning, code)


def _with_lines(report: Report, warning: Diagnosis, code: Mapping[str, SourceFile]) -> Report:
    files = {location.file: code[location.file] for location in warning.locations if location.file in code}
    return replace(report, code={**report.code, **files})


def _noted(report: Report, note: str) -> Report:
    """With a note, once."""
    return report if note in report.notes else replace(report, notes=(*report.notes, note))


def early_sign(sign: EarlySign) -> str:
    """What is said of a sign."""
    return f"early sign {sign.seen:.0f} s after the start: {sign.said}"


def _began(desync: Desync) -> str:
    began = f"a desync began {desync.since:.0f} s after the start"
    return f"{began}: {desync.parting}" if desync.parting else began
