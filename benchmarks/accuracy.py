"""How often the verdict is right: `python -m benchmarks.accuracy` writes docs/accuracy.md.

The broken program of every fixture runs under `ddpdoctor watch`, unchanged and in generated variants
(tests/e2e/variants). To find false alarms, every fixed program and many seeds of every healthy but unusual program
(benchmarks/healthy.py) run as well. Each result is appended to build/accuracy.jsonl or benchmarks/healthy_runs.jsonl
at once, with its seed, commit and a hash of the engine; an interrupted run continues where it stopped, and results of
another engine do not count: those runs are made again. Exit status 1 if anything called certain is wrong, or a healthy
job was reported as hanging.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import importlib.metadata
import os
import platform
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from benchmarks import accuracy_page, desync_runs, first_runs, healthy, ledger, measured
from benchmarks.accuracy_page import AS_IT_IS, CURED, Trial
from benchmarks.healthy import HealthyRun
from benchmarks.ledger import Ledger, Task
from benchmarks.measured import ROOT
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.report import Report
from ddpdoctor.repro import catalogue, runner
from ddpdoctor.repro.case import Case
from ddpdoctor.repro.runner import RunResult
from tests.e2e.variants import forms

PAGE = ROOT / "docs" / "accuracy.md"
#: seconds that a run may take beyond what its fixture asks for: it shares the machine with the other runs
SHARING = 120
RESULTS = ROOT / "build" / "accuracy.jsonl"


def main() -> int:
    args = _arguments()
    trials = _ledger(fresh=args.fresh)
    quiet = healthy.ledger(fresh=args.fresh)
    if not args.page:
        ledger.run(
            [task for task in _tasks(args.rounds, args.seeds, trials, quiet) if args.only in task.key], args.jobs
        )
    reasons = accuracy_page.read_reasons()
    first, silent, before = first_runs.sets(), desync_runs.sets(), PAGE.read_text(encoding="utf-8")
    text = accuracy_page.page(trials.results, quiet.results, reasons, _machine(), first, silent, before)
    PAGE.write_text(text, encoding="utf-8")
    wrong = accuracy_page.gravely_wrong([*trials.results, *quiet.results])
    print(f"{PAGE.relative_to(ROOT)}: {len(trials.results) + len(quiet.results)} runs, {len(wrong)} gravely wrong")
    return 1 if wrong else 0


def _ledger(file: Path = RESULTS, *, fresh: bool = False) -> Ledger[Trial]:
    return Ledger(file, lambda told: Trial(**told), fresh=fresh)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2, help="times that a fixture runs as it is (default: 2)")
    parser.add_argument("--seeds", type=int, default=14, help="runs of each kind of healthy job (default: 14)")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time (default: 2)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only runs with this text in their key")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs have found")
    parser.add_argument("--page", action="store_true", help="run nothing, write anew what has results")
    return parser.parse_args()


def _tasks(
    rounds: int, seeds: int, trials: Ledger[Trial], quiet: Ledger[HealthyRun]
) -> Iterator[Task[Trial] | Task[HealthyRun]]:
    """All runs; hangs and healthy jobs take turns, so that any part of them is a sample of the whole."""
    cases = [case for case in catalogue.load_all(catalogue.root()) if not runner.missing(case) and case.harm is None]
    hanging = list(_hanging(cases, rounds, trials))
    odd = list(healthy.tasks(seeds, quiet))
    for number in range(max(len(hanging), len(odd))):
        yield from hanging[number : number + 1]
        yield from odd[number : number + 1]


def _hanging(cases: list[Case], rounds: int, trials: Ledger[Trial]) -> Iterator[Task[Trial]]:
    for number in range(rounds):
        for case in cases:
            yield Task(f"{AS_IT_IS}/{case.name}/{number}", trials, functools.partial(_broken, case, AS_IT_IS, number))
    for form in forms.FORMS:
        for case in filter(forms.has_forms, cases):
            yield Task(f"{form}/{case.name}/0", trials, functools.partial(_broken, case, form, 0))
    for case in cases:
        yield Task(f"{CURED}/{case.name}/0", trials, functools.partial(_cured, case))


def _broken(case: Case, form: str, number: int, folder: Path, stop: threading.Event) -> Trial:
    folder.mkdir(parents=True)
    wanted = case if form == AS_IT_IS else forms.build(case, form, folder / "program")
    wanted = dataclasses.replace(wanted, seconds=wanted.seconds + SHARING)
    program = runner.CaseProgram(wanted, wanted.ranks, fixed=False)
    result = runner.run(program, folder / "run", stop=stop, tick=lambda _: None)
    return _trial(wanted, form, number, result)


def _cured(case: Case, folder: Path, stop: threading.Event) -> Trial:
    folder.mkdir(parents=True)
    patient = dataclasses.replace(case, seconds=case.seconds + SHARING)
    program = runner.CaseProgram(patient, case.ranks, fixed=True)
    result = runner.run(program, folder / "run", stop=stop, tick=lambda _: None)
    return _trial(case, CURED, 0, result)


def _trial(case: Case, form: str, number: int, result: RunResult) -> Trial:
    report = result.report
    first = report.diagnoses[0] if report and report.diagnoses else None
    return Trial(
        form,
        case.name,
        number,
        result.ranks,
        expected=case.code,
        found=first.code if first else "none",
        provable=case.deadlock.value == "proven",
        deadlock=report.deadlock.value if report else "none",
        outcome=report.outcome.value if report else "none",
        confidence=first.confidence.value if first else "none",
        missed={check.what: (check.expected, check.found) for check in result.checks if not check.passed},
        wrongly_certain=wrongly_certain(case, result),
        silence=_silence(report),
        engine=measured.engine(),
        commit=measured.commit(),
    )


def _silence(report: Report | None) -> float | None:
    """Seconds from the last progress of any rank to the report."""
    if report is None or report.timeline.reported is None or report.timeline.last_progress is None:
        return None
    return report.timeline.reported - report.timeline.last_progress


def wrongly_certain(case: Case, result: RunResult) -> bool:
    """Anything in the report that is called certain, or proven, and is not so."""
    report = result.report
    if report is None:
        return False
    missed = {check.what for check in result.checks if not check.passed}
    if "deadlock" in missed and report.deadlock.value == "proven":
        return True
    for number, one in enumerate(report.diagnoses):
        if one.confidence is Confidence.CERTAIN and (one.code != case.code or (number == 0 and "line" in missed)):
            return True
        if one.culprit_confidence is Confidence.CERTAIN and one.culprits != case.culprits:
            return True
    return False


def _machine() -> str:
    python, torch = platform.python_version(), importlib.metadata.version("torch")
    return f"{os.cpu_count()} cores, Python {python}, torch {torch}"


if __name__ == "__main__":
    sys.exit(main())
