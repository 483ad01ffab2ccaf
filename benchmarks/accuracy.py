"""How often the verdict is right: `python -m benchmarks.accuracy [ROUNDS] [JOBS]` writes docs/accuracy.md.

Every fixture's broken program runs ROUNDS times (default 3) for real under `ddpdoctor watch`, JOBS at a time (default
2), and every cured program and every healthy but odd program of tests/e2e/healthy as often, as a watch for false
alarms. Status 1 where an answer that was called certain is wrong, or a healthy job was called hanging.
"""

from __future__ import annotations

import concurrent.futures
import json
import statistics
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import ddpdoctor
from ddpdoctor.model.diagnosis import Confidence, Deadlock
from ddpdoctor.repro import catalogue, runner
from ddpdoctor.repro.case import Case
from ddpdoctor.repro.runner import Result

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "accuracy.md"
#: seconds that a healthy job may take
LONGEST = 180.0
HEALTHY = sorted((ROOT / "tests" / "e2e" / "healthy").glob("[a-z]*.py"))


@dataclass(frozen=True, slots=True)
class Alarm:
    """What was said of a job that is healthy: "" for nothing."""

    program: str
    said: str


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    jobs = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    every = catalogue.load_all(catalogue.root())
    cases = [case for case in every if not runner.missing(case) and case.harm is None]
    with tempfile.TemporaryDirectory(prefix="ddp-") as folder, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        broken = [
            pool.submit(_broken, case, Path(folder, f"{case.name}-{number}"))
            for number in range(rounds)
            for case in cases
        ]
        healthy = [
            pool.submit(_healthy, program, Path(folder, f"healthy-{program.parent.name}-{program.stem}-{number}"))
            for number in range(rounds)
            for program in [*HEALTHY, *(case.fixed for case in cases)]
        ]
        found = list(_as_they_come(broken, len(healthy)))
        alarms = [future.result() for future in healthy]
    PAGE.write_text(_page(cases, found, alarms, rounds), encoding="utf-8")
    wrong = [alarm for alarm in alarms if alarm.said] + [r for r in found if _wrongly_certain(r)]
    print(f"{PAGE.relative_to(ROOT)}: {len(found)} hangs, {len(alarms)} healthy jobs, {len(wrong)} gravely wrong")
    return 1 if wrong else 0


def _as_they_come(futures: list[concurrent.futures.Future[Result]], others: int) -> Iterator[Result]:
    for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
        result = future.result()
        word = (
            "ok"
            if result.passed
            else "MISS "
            + "; ".join(
                f"{check.what} {check.found}, not {check.expected}" for check in result.checks if not check.passed
            )
        )
        print(f"[{done}/{len(futures) + others}] {result.code} {result.name}: {word}", file=sys.stderr, flush=True)
        yield result


def _broken(case: Case, folder: Path) -> Result:
    return runner.run(case, ranks=case.ranks, fixed=False, folder=folder, stop=threading.Event(), tick=lambda _: None)


def _healthy(program: Path, folder: Path) -> Alarm:
    """A healthy job under an ordinary watch; a rank that works long may be called slow, and is."""
    folder.mkdir(parents=True)
    written = folder / "report.json"
    command = [sys.executable, "-m", "ddpdoctor", "watch", "--on-hang", "stop", "--json", str(written)]
    job = runner.launch_command("torchrun", program, 3)
    watched = [*command, "--bundle", str(folder / "bundle"), "--", *job]
    try:
        done = subprocess.run(watched, capture_output=True, stdin=subprocess.DEVNULL, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return Alarm(f"{program.parent.name}/{program.name}", f"did not end within {LONGEST:.0f} s")
    report = json.loads(written.read_text()) if written.exists() else {"outcome": "healthy", "deadlock": "no"}
    name = f"{program.parent.name}/{program.name}"
    if done.returncode != 0:
        return Alarm(name, f"exit status {done.returncode}")
    fine = report["outcome"] in ("healthy", "slow") and report["deadlock"] != "proven"
    return Alarm(name, "" if fine else f"{report['outcome']}, deadlock {report['deadlock']}")


def _wrongly_certain(result: Result) -> bool:
    """Any diagnosis of the report, not only the first."""
    sure = [d for d in result.report.diagnoses if d.confidence is Confidence.CERTAIN] if result.report else []
    failed = {check.what for check in result.checks if not check.passed}
    return any(one.code != result.code for one in sure) or (bool(sure) and bool(failed & {"code", "culprits", "line"}))


def _page(cases: list[Case], found: list[Result], alarms: list[Alarm], rounds: int) -> str:
    by_case: dict[str, list[Result]] = defaultdict(list)
    for result in found:
        by_case[result.name].append(result)
    provable = [r for r in found if _case(cases, r).deadlock is Deadlock.PROVEN]
    proven = [r for r in provable if r.report and r.report.deadlock is Deadlock.PROVEN]
    certain = [r for r in found if _confidence(r) == "certain"]
    silent = [alarm for alarm in alarms if not alarm.said]
    lines = [
        "# Accuracy",
        "",
        "Written by `make accuracy`. Every fixture's broken program ran for real, on the CPU with gloo, under",
        f"`ddpdoctor watch` ({ddpdoctor.__version__}), {rounds} times; so did every cured program and every healthy",
        "but odd one of `tests/e2e/healthy`, as a watch for false alarms. The programs were written with the rules in",
        "view: this says that the tool does what it means to, not how it fares on yours.",
        "",
        f"- right code: {_share([r for r in found if _right(r, 'code')], found)}",
        f"- right culprits: {_share([r for r in found if _right(r, 'culprits')], found)}",
        f"- right file and line first: {_share([r for r in found if _right(r, 'line')], found)}",
        f"- deadlocks that can be proven and were: {_share(proven, provable)}",
        f"- called certain: {_share(certain, found)}; of those wrong: {sum(map(_wrongly_certain, found))}",
        f"- healthy jobs of which nothing false was said: {_share(silent, alarms)}",
        "",
        "Silence is the time from the last progress of any rank to the report, in seconds (median; longest).",
        "",
        "| code | fixture | runs | code | culprits | line | deadlock | confidence | silence |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [_row(case, by_case[case.name]) for case in cases]
    misses = [result for result in found if not result.passed]
    lines += ["", "## Misses", ""]
    lines += [_miss(result) for result in misses] or ["None."]
    lines += ["", "## False alarms", ""]
    lines += [f"- {alarm.program}: {alarm.said}" for alarm in alarms if alarm.said] or ["None."]
    return "\n".join(lines) + "\n"


def _row(case: Case, results: list[Result]) -> str:
    silences = [
        r.report.timeline.reported - r.report.timeline.last_progress
        for r in results
        if r.report and r.report.timeline.reported is not None and r.report.timeline.last_progress is not None
    ]
    told = f"{statistics.median(silences):.1f}; {max(silences):.1f}" if silences else ""
    deadlocks = "/".join(sorted({r.report.deadlock.value for r in results if r.report}))
    confidences = "/".join(sorted({_confidence(r) for r in results}))
    right = [str(sum(_right(r, what) for r in results)) for what in ("code", "culprits", "line")]
    return (
        f"| {case.code} | {case.name} | {len(results)} | {' | '.join(right)} | {deadlocks} | {confidences} | {told} |"
    )


def _miss(result: Result) -> str:
    failed = "; ".join(f"{c.what}: {c.found}, not {c.expected}" for c in result.checks if not c.passed)
    return f"- {result.code} {result.name}: {failed}"


def _case(cases: list[Case], result: Result) -> Case:
    return next(case for case in cases if case.name == result.name)


def _right(result: Result, what: str) -> bool:
    return any(check.what == what and check.passed for check in result.checks)


def _confidence(result: Result) -> str:
    first = result.report.diagnoses[0] if result.report and result.report.diagnoses else None
    return first.confidence.value if first else "none"


def _share(part: list[Result] | list[Alarm], whole: list[Result] | list[Alarm]) -> str:
    return f"{len(part)} of {len(whole)} ({len(part) / len(whole):.0%})" if whole else "none"


if __name__ == "__main__":
    sys.exit(main())
