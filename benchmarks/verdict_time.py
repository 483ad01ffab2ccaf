"""How long it takes until a verdict is there: `python -m benchmarks.verdict_time [RUNS] [FIXTURE...]`.

A fixture of each family of causes runs broken under a real torchrun and `ddpdoctor watch`. Measured are the seconds
from the last progress of any rank until the report, as the report's own timeline has them. What cannot be proven is
reported after `--stall-after`, which these fixtures set to 10 seconds. The limits are those that `ddpdoctor repro`
checks.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from benchmarks import figures
from benchmarks.figures import Figure, Unit
from ddpdoctor.model.diagnosis import Deadlock, Outcome
from ddpdoctor.repro import catalogue, expectations, runner
from ddpdoctor.repro.case import Case


@dataclass(frozen=True, slots=True)
class Family:
    """Causes that are found in one way, and the fixture that stands for them."""

    name: str
    fixture: str


FAMILIES = (
    Family("other data (DD201, DD202, DD207)", "uneven-inputs"),
    Family("another way through the program (DD203 to DD213, DD216, DD217)", "rank-conditional-collective"),
    Family("another order, other groups (DD213, DD218 to DD222)", "group-order-cycle"),
    Family("other sizes or types (DD214, DD215, DD264)", "shape-mismatch"),
    Family("a rank at work (DD231, DD232, DD240)", "slow-host-work"),
    Family("a rank waits outside of torch (DD233, DD238, DD239, DD241)", "lock-wait"),
    Family("data workers (DD234 to DD237)", "data-worker-stuck"),
    Family("a process that cannot run (DD242 to DD244)", "stopped-process"),
    Family("a rank failed (DD251, DD253)", "exception-masked"),
    Family("a rank ended too early or does not end (DD252, DD254)", "rank-finished-early"),
    Family("before the first step (DD261 to DD263)", "rank-missing-at-init"),
    Family("all are there and nothing comes (DD271 to DD273)", "transport-stall"),
)


def main() -> int:
    families = [family for family in FAMILIES if family.fixture in sys.argv] or FAMILIES
    return max(figures.tell(measure(family, figures.count(3))) for family in families)


def measure(family: Family, runs: int) -> list[Figure]:
    """The seconds of so many runs. Raises RuntimeError if one had no report, or not the code that was expected."""
    case = next(case for case in catalogue.load_all(catalogue.root()) if case.name == family.fixture)
    times = [_one(case) for _ in range(runs)]
    told = "proven" if case.deadlock is Deadlock.PROVEN else "after the patience" if case.stall_after else "at once"
    # a crash is reported after its launcher has ended the other ranks, which takes a varying time
    limit = None if case.outcome is Outcome.CRASH else expectations.report_within(case)
    return [figures.repeated(f"{family.name}: `{case.name}`, {told}", times, Unit.SECONDS, limit)]


def _one(case: Case) -> float:
    with tempfile.TemporaryDirectory(prefix="ddp-") as folder:
        program = runner.CaseProgram(case, case.ranks, fixed=False)
        result = runner.run(program, Path(folder) / "run", stop=threading.Event(), tick=lambda _: None)
    report = result.report
    if report is None or not report.diagnoses or report.diagnoses[0].code != case.code:
        raise RuntimeError(f"{case.name}: no verdict of {case.code}, but {report and report.diagnoses}")
    if report.timeline.reported is None or report.timeline.last_progress is None:
        raise RuntimeError(f"{case.name}: the report does not say when progress ended")
    return report.timeline.reported - report.timeline.last_progress


if __name__ == "__main__":
    sys.exit(main())
