"""Pure. Compares what a fixture's run was expected to give with what it gave."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from ddpdoctor.errors import ExitCode
from ddpdoctor.model.diagnosis import Deadlock, Outcome
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.report import Report
from ddpdoctor.repro.case import Case, Harm

#: seconds from the last progress to the report with a proof, or beyond `--stall-after` without one
PROVEN_WITHIN = 6.0
SUSPECTED_WITHIN = 4.0


@dataclass(frozen=True, slots=True)
class Check:
    """One expectation."""

    what: str
    expected: str
    found: str
    passed: bool


def of_broken(
    case: Case, ranks: int, report: Report | None, status: int | None, *, but: Collection[str] = ()
) -> tuple[Check, ...]:
    """Compare the report on broken.py with fixture.toml, except for the checks in `but`.

    `status` is the exit status of `watch`, None if we ended it.
    """
    if report is None:
        return (Check("report", "a diagnosis", f"none, exit status {status}", False),)
    first = report.diagnoses[0] if report.diagnoses else None
    culprits = first.culprits if first else RankSet()
    checks = [
        _equal("outcome", case.outcome.value, report.outcome.value),
        Check("deadlock", case.deadlock.value, report.deadlock.value, case.allows_deadlock(report.deadlock)),
        _equal("code", case.code, first.code if first else "none"),
        _line(case, report),
    ]
    if case.outcome is not Outcome.CRASH:
        # a crash is reported after its launcher has ended the other ranks, which takes a varying time
        checks.append(_in_time(case, report))
    # which ranks are the culprits depends on how the fixture's data is distributed over this number of ranks
    if (blamed := case.culprits_at(ranks)) is not None:
        checks.insert(3, _equal("culprits", str(blamed) or "none", str(culprits) or "none"))
    if case.outcome is Outcome.HANG and status is not None:
        checks.append(_equal("status", str(int(ExitCode.HANG_STOPPED)), str(status)))
    return tuple(check for check in checks if check.what not in but)


def of_fixed(report: Report | None, status: int | None) -> tuple[Check, ...]:
    """Checks that the fixed program ends by itself, and that nothing is reported."""
    said = report.outcome.value if report else Outcome.HEALTHY.value
    named = report.diagnoses[0].code if report and report.diagnoses else "none"
    return (
        _equal("status", "0", str(status) if status is not None else "did not end"),
        _equal("outcome", Outcome.HEALTHY.value, said),
        _equal("code", "none", named),
    )


@dataclass(frozen=True, slots=True)
class PlainRun:
    """A run of a harmful case's program without `watch`."""

    ranks: int
    fixed: bool
    output: str
    #: the launcher's exit status, None if we ended the run
    status: int | None
    #: codes of lint's findings in the program
    codes: frozenset[str]


def of_harm(case: Case, harm: Harm, run: PlainRun) -> tuple[Check, ...]:
    """Checks of a program that ran without `watch`: its own number, how it ended, and what lint reported."""
    low, high = harm.cured if run.fixed else harm.harmed
    fails = harm.fails and not run.fixed
    found = number_in(run.output, harm.measure)
    # the size of the harm depends on how the fixture's data is distributed over its own number of ranks
    fits = found is not None and (low <= found <= high or run.ranks != case.ranks)
    expected = f"{low}" if low == high else f"{low} to {high}"
    ended = "did not end" if run.status is None else str(run.status)
    return (
        Check(
            "number", expected if run.ranks == case.ranks else "any", "none" if found is None else f"{found:g}", fits
        ),
        Check("status", "an error" if fails else "0", ended, run.status is not None and bool(run.status) == fails),
        _equal("lint", "nothing" if run.fixed else case.lint or "nothing", ", ".join(sorted(run.codes)) or "nothing"),
    )


def number_in(output: str, measure: str) -> float | None:
    """The last number that the program printed after `<measure>:`."""
    found = re.findall(rf"{re.escape(measure)}: (-?\d+(?:\.\d+)?)", output)
    return float(found[-1]) if found else None


def _equal(what: str, expected: str, found: str) -> Check:
    return Check(what, expected, found, expected == found)


def _line(case: Case, report: Report) -> Check:
    """Checks the first location; any location if nobody is to blame and several explanations are given."""
    expected = f"{case.located.name}:{case.line}"
    locations = report.diagnoses[0].locations if report.diagnoses else ()
    if len(case.culprits):
        locations = locations[:1]
    found = [f"{location.file.rpartition('/')[2]}:{location.line}" for location in locations]
    exact = any(location.file == str(case.located) and location.line == case.line for location in locations)
    return Check("line", expected, ", ".join(found) or "none", exact)


def report_within(case: Case) -> float:
    """Seconds from the last progress within which the report must be there."""
    return PROVEN_WITHIN if case.deadlock is Deadlock.PROVEN else SUSPECTED_WITHIN + (case.stall_after or 0)


def _in_time(case: Case, report: Report) -> Check:
    limit = report_within(case)
    times = report.timeline
    expected = f"within {limit:.0f} s"
    if times.reported is None or times.last_progress is None:
        return Check("time", expected, "not said", False)
    silence = times.reported - times.last_progress
    return Check("time", expected, f"{silence:.1f} s", silence <= limit)
