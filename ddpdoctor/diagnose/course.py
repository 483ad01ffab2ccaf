"""One story: the verdict of a look, with what was seen of the job before."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.model.course import Course
from ddpdoctor.model.desync import Desync
from ddpdoctor.model.diagnosis import Deadlock, Outcome
from ddpdoctor.model.report import Report

#: what a reader of a warning must know
NO_PROOF = "a warning, no proof: all ranks still move"


def with_course(report: Report, course: Course) -> Report:
    """The report with the job's course: a hang says since when its ranks had shifted, and a look at a job that moves
    shows the warning that it was taken for. Doing so again changes nothing."""
    report = replace(report, desync=course.desync, waited=course.waited)
    if course.desync is not None and report.outcome in (Outcome.HANG, Outcome.CRASH):
        return _noted(report, _began(course.desync))
    if course.warning is not None and report.outcome in (Outcome.HEALTHY, Outcome.SLOW):
        warned = replace(report, outcome=Outcome.DESYNC, deadlock=Deadlock.NO, diagnoses=(course.warning,))
        return _noted(replace(warned, not_considered={}), NO_PROOF)
    return report


def _noted(report: Report, note: str) -> Report:
    """With a note, once."""
    return report if note in report.notes else replace(report, notes=(*report.notes, note))


def _began(desync: Desync) -> str:
    began = f"a desync began {desync.since:.0f} s after the start"
    return f"{began}: {desync.parting}" if desync.parting else began
