"""The twelve jobs of `make compat`, and how one of them is run: `python -m benchmarks.compat_cases NAME FOLDER`.

It runs in the environment that is to be judged, with the ddpdoctor that is installed there, and writes FOLDER/row.json.
What is right is what the fixtures say, and it is compared as `ddpdoctor repro` and benchmarks/accuracy.py compare it.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.metadata
import json
import platform
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import accuracy, dump_accuracy, measured
from benchmarks.compat_page import Row
from ddpdoctor.model.report import Report
from ddpdoctor.repro import catalogue, runner
from ddpdoctor.repro.case import Case

#: seconds that a run may take beyond what its fixture asks for: where this torch shows too little, nothing is proven,
#: and `watch` then waits ten minutes for a job that has not made its first step
PATIENT = 660
BROKEN, FIXED, DUMP = "broken", "fixed", "dump"
ROW = "row.json"


@dataclass(frozen=True, slots=True)
class Job:
    """One of the twelve: a fixture's program, and what is done with it."""

    name: str
    #: what is asked, in a few words
    about: str
    #: BROKEN and FIXED run under `watch`, or alone if it does harm without stopping; DUMP runs alone until it stands
    how: str = BROKEN
    #: what the program imports that not every torch has: (module, name)
    imports: tuple[str, str] | None = None
    #: the fixture, if the job is not named after it
    fixture: str = ""

    @property
    def case(self) -> Case:
        return catalogue.load(catalogue.root() / (self.fixture or self.name))


JOBS = (
    Job("rank-conditional-collective", "a collective that one rank alone calls"),
    Job("uneven-inputs", "DDP with a batch less on one rank"),
    Job("rank-finished-early", "a rank that has ended, and its exit"),
    Job("swallowed-exception", "an exception that is caught on one rank", imports=("torch", "OutOfMemoryError")),
    Job("group-order-cycle", "two groups, used in another order"),
    Job("p2p-deadlock", "point-to-point calls in a ring"),
    Job("fsdp2-skipped-bad-loss", "FSDP2", imports=("torch.distributed.fsdp", "fully_shard")),
    Job("data-worker-stuck", "a data worker in a system call"),
    Job("rank-died", "a rank that raises, and the launcher that ends the others"),
    Job("epoch-order-repeats", "lint, and the harm that it warns of"),
    Job("healthy", "a healthy job, watched to its end", FIXED, fixture="uneven-inputs"),
    Job("dump", "`dump` of a job that nobody watched", DUMP, fixture="rank-conditional-collective"),
)
BY_NAME = {job.name: job for job in JOBS}


def run(job: Job, folder: Path) -> Row:
    """Run one job in this environment; `folder` takes what it writes."""
    case = job.case
    row = Row(
        torch=importlib.metadata.version("torch").partition("+")[0],
        build=importlib.metadata.version("torch"),
        python=platform.python_version(),
        kernel=platform.release(),
        case=job.name,
        engine=measured.engine(),
    )
    if job.imports is not None and not _has(*job.imports):
        return dataclasses.replace(row, lacks=f"this torch has no {'.'.join(job.imports)}")
    if job.how == DUMP:
        return _dumped(row, case)
    patient = dataclasses.replace(case, seconds=case.seconds + PATIENT)
    program = runner.CaseProgram(patient, case.ranks, fixed=job.how == FIXED)
    result = runner.run(program, folder / "run", stop=threading.Event(), tick=lambda _: None)
    return dataclasses.replace(
        _with_report(row, result.report),
        missed={check.what: (check.expected, check.found) for check in result.checks if not check.passed},
        wrongly_certain=job.how == BROKEN and accuracy.wrongly_certain(patient, result),
        lacks=result.skipped,
    )


def _has(module: str, name: str) -> bool:
    try:
        return hasattr(importlib.import_module(module), name)
    except ImportError:
        return False


def _dumped(row: Row, case: Case) -> Row:
    """What `dump` says, judged as in docs/dump-accuracy.md."""
    found = dump_accuracy.look(case)
    if found is None:
        return dataclasses.replace(row, missed={"report": ("a diagnosis", "dump failed")})
    looked, report = found
    missed = {}
    if looked.code != looked.right_code:
        missed["code"] = (looked.right_code, looked.code or "none")
    if not looked.named:
        missed["culprits"] = (str(list(looked.right_culprits)), str(list(looked.culprits)))
    return dataclasses.replace(_with_report(row, report), missed=missed, wrongly_certain=bool(looked.wrong))


def _with_report(row: Row, report: Report | None) -> Row:
    if report is None:
        return row
    first = next(iter(report.diagnoses), None)
    return dataclasses.replace(
        row,
        outcome=report.outcome.value,
        deadlock=report.deadlock.value,
        code=first.code if first else "",
        confidence=first.confidence.value if first else "",
        culprits=tuple(first.culprits) if first else (),
        silence=_silence(report),
        gaps=_unique(f"{gap.source.value}: {gap.reason}" for gap in report.gaps),
    )


def _silence(report: Report) -> float | None:
    """Seconds from the last progress of any rank to the report; None if none was seen."""
    times = report.timeline
    return (
        None
        if times.reported is None or times.last_progress is None
        else round(times.reported - times.last_progress, 1)
    )


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def main() -> int:
    name, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    row = run(BY_NAME[name], folder)
    (folder / ROW).write_text(json.dumps(dataclasses.asdict(row)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
