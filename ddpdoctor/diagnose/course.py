"""One story: the verdict of a look, with what was seen of the job before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import (
    GROUP_ORDER_CYCLE,
    LOCAL_STOP_DECISION,
    RANK_DIED,
    THREADS_SHARE_GROUP,
    UNDECIDED,
    UNEVEN_INPUTS,
)
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.likeliest import is_likeliest
from ddpdoctor.model.course import Course
from ddpdoctor.model.desync import Desync
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Diagnosis, Location, Outcome
from ddpdoctor.model.early_sign import EarlySign
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.report import Report

#: what a reader of a warning must know
NO_PROOF = "a warning, no proof: all ranks still move"
#: and of what a job stood for that has ended since
NOT_ARRIVED = "told while the job stood for it; it had not arrived when the others gave up"
#: code of an early sign -> the rule of the hang, and what to change
_FIXES = {
    UNEVEN_INPUTS.code: (
        UNEVEN_INPUTS,
        "Give every rank the same number of batches: filter before the data are split and use "
        "DistributedSampler(drop_last=True), or all_reduce each step whether any rank has run out, and stop together.",
    ),
    LOCAL_STOP_DECISION.code: (LOCAL_STOP_DECISION, wording.DECIDE_TOGETHER),
}


def with_course(report: Report, course: Course, code: Mapping[str, SourceFile]) -> Report:
    """The report with the job's course: a hang says since when its ranks had shifted, and a look at a job that moves
    shows the warning that it was taken for, whatever its one sample looks like. `code` holds the files that the warning
    may name. Doing so again changes nothing."""
    report = replace(report, desync=course.desync, waited=course.waited)
    for sign in course.signs:
        report = _noted(report, early_sign(sign))
    if course.warning is not None and not course.hangs and report.outcome is not Outcome.CRASH:
        warned = replace(report, outcome=Outcome.DESYNC, deadlock=Deadlock.NO, diagnoses=(course.warning,))
        return _noted(replace(_with_lines(warned, code), not_considered={}), NO_PROOF)
    if report.outcome is Outcome.HANG:
        report = _by_signs(_one_story(report, course.warning, code), course.signs, code)
    if report.outcome is Outcome.CRASH and course.slow is not None:
        report = _gave_up(report, course.slow, code)
    if course.desync is not None and report.outcome in (Outcome.HANG, Outcome.CRASH):
        return _noted(report, _began(course.desync))
    return report


def _one_story(report: Report, warning: Diagnosis | None, code: Mapping[str, SourceFile]) -> Report:
    """Where the look at a hang does not decide, the warning's cause, if nothing speaks against it: the steps in which
    the ranks parted may be long gone from their histories. And where threads had changed places, no rank is to blame
    for the order in which they then stand."""
    if warning is not None and warning.code == THREADS_SHARE_GROUP.code:
        report = replace(report, diagnoses=tuple(map(_without_blame, report.diagnoses)))
    elif warning is not None:
        report = replace(report, diagnoses=tuple(_blamed(one, warning) for one in report.diagnoses))
    first = _undecided(report)
    if first is None or warning is None or UNDECIDED.code == warning.code or not _same(warning.culprits, first):
        return report
    told = replace(warning, culprits=first.culprits, culprit_confidence=first.culprit_confidence, waiting=first.waiting)
    return _told_instead(report, told, code)


def _gave_up(report: Report, slow: Diagnosis, code: Mapping[str, SourceFile]) -> Report:
    """Where ranks have only given up waiting, what they waited for is the cause: a rank that was slow when the job was
    looked at, and has not arrived."""
    first = next(iter(report.diagnoses), None)
    if first is None or first.code != RANK_DIED.code or first.confidence is not Confidence.POSSIBLE:
        return report
    if not first.culprits or any(rank in slow.culprits for rank in first.culprits):
        return report
    told = _told_instead(replace(report, diagnoses=(first,)), slow, code)
    return _noted(told, NOT_ARRIVED)


def _without_blame(one: Diagnosis) -> Diagnosis:
    if one.code != GROUP_ORDER_CYCLE.code:
        return one
    return replace(one, culprits=RankSet(), waiting=one.waiting | one.culprits)


def _blamed(one: Diagnosis, warning: Diagnosis) -> Diagnosis:
    """The diagnosis with those to blame who had shifted before, if it blames nobody itself."""
    if one.culprits or not warning.culprits or warning.culprits - one.waiting:
        return one
    sure = Confidence.POSSIBLE if Confidence.POSSIBLE in (one.confidence, warning.confidence) else Confidence.LIKELY
    waiting = one.waiting - warning.culprits
    return replace(one, culprits=warning.culprits, culprit_confidence=sure, waiting=waiting)


def _by_signs(report: Report, signs: Iterable[EarlySign], code: Mapping[str, SourceFile]) -> Report:
    """The same with what loaders and their loops showed before."""
    first = _undecided(report)
    sign = next((one for one in signs if first is not None and _same(one.culprits, first)), None)
    if first is None or sign is None:
        return report
    rule, fix = _FIXES[sign.code]
    told = diagnosis(
        rule,
        first.waiting,
        confidence=Confidence.LIKELY if sign.culprits else Confidence.POSSIBLE,
        blame=first.culprit_confidence,
        culprits=first.culprits,
        summary=sign.said,
        why=f"Loops that do not end together leave ranks waiting for each other for ever, unless {sign.unless}. The "
        "histories of the ranks do not reach back to where they parted, or do not decide.",
        fix=fix,
        locations=(Location(first.culprits, sign.site.file, sign.site.line, sign.site.function, ""),),
        evidence=(),
    )
    return _told_instead(report, told, code)


def _undecided(report: Report) -> Diagnosis | None:
    """The first diagnosis of a hang if it decides nothing."""
    first = next(iter(report.diagnoses), None)
    if first is None or report.outcome is not Outcome.HANG:
        return None
    return first if first.code == UNDECIDED.code or is_likeliest(first) else None


def _same(culprits: RankSet, first: Diagnosis) -> bool:
    """Whether those that were to blame before, if anybody was, still are."""
    return culprits in (RankSet(), first.culprits)


def _told_instead(report: Report, told: Diagnosis, code: Mapping[str, SourceFile]) -> Report:
    locations = {(one.file, one.line): one for one in (*report.diagnoses[0].locations, *told.locations)}
    first = [locations[one.file, one.line] for one in told.locations]
    rest = [one for one in locations.values() if one not in first]
    told = replace(told, locations=(*first, *rest))
    return _with_lines(replace(report, diagnoses=(told, *report.diagnoses[1:])), code)


def _with_lines(report: Report, code: Mapping[str, SourceFile]) -> Report:
    """With the source that the first diagnosis names."""
    files = {place.file: code[place.file] for place in report.diagnoses[0].locations if place.file in code}
    return replace(report, code={**report.code, **files})


def _noted(report: Report, note: str) -> Report:
    """With a note, once."""
    return report if note in report.notes else replace(report, notes=(*report.notes, note))


def early_sign(sign: EarlySign) -> str:
    """What is said of a sign."""
    return (
        f"early sign since {sign.since:.1f} s, told {sign.told:.1f} s after the start: {sign.said}: unless "
        f"{sign.unless}, they will wait for each other for ever at the end"
    )


def _began(desync: Desync) -> str:
    began = f"a desync began {desync.since:.0f} s after the start"
    return f"{began}: {desync.parting}" if desync.parting else began
