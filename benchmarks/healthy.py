"""Healthy but unusual jobs, run many times: each seed gives another number of ranks, steps and seconds."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.job import STARTUP, Run, forked, torchrun, watch

PROGRAMS = Path(__file__).parents[1] / "tests" / "e2e" / "healthy"
#: seconds that a job may take beside its start
LONGEST = 180.0
#: the least number of ranks, where two are too few
LEAST = {"broadcast_and_subgroup_barrier": 3}
#: in these one rank works for longer than the patience below, which must be called slow and nothing else
WORKING = frozenset({"slow_compiling", "slow_piping", "slow_polling", "slow_reading", "slow_saving", "slow_tokenizing"})
#: seeds from this one on are started by a launcher that imports torch once for all ranks, at half the cost
UNDER_TORCHRUN = 4
#: seconds for --stall-after with every other seed, a minute's work being as many seconds as the program sleeps
PATIENCE, SHORT_PATIENCE = "8", "5"


@dataclass(frozen=True, slots=True)
class Told:
    """What was said of one healthy job."""

    kind: str
    seed: int
    ranks: int
    #: why it is a false alarm, "" if nothing false was said
    alarm: str
    #: a rank was called slow, and rightly so
    slow: bool
    seconds: float


def kinds() -> list[str]:
    """Names of the kinds of healthy job."""
    return sorted(path.stem for path in PROGRAMS.glob("[a-z]*.py"))


def run(kind: str, seed: int, folder: Path) -> Told:
    """Run one job to its end under `ddpdoctor watch`."""
    ranks = max(LEAST.get(kind, 2), random.Random(f"{kind} {seed}").randint(2, 4))
    hasty = ["--stall-after", SHORT_PATIENCE if kind in WORKING else PATIENCE] if seed % 2 == 0 else []
    launched = torchrun if seed < UNDER_TORCHRUN else forked
    job = launched(PROGRAMS / f"{kind}.py", ranks, "--seed", str(seed))
    done = watch(job, folder, *hasty, timeout=STARTUP + LONGEST)
    slow = any(report["outcome"] == "slow" for report in done.reports)
    return Told(kind, seed, ranks, _alarm(done), slow, done.seconds)


def _alarm(done: Run) -> str:
    for report in done.reports:
        if fault := _fault(report):
            return fault
    return "" if done.status == 0 else "did not end in time" if done.status is None else f"exit status {done.status}"


def _fault(report: dict[str, Any]) -> str:
    codes = ", ".join(f"{d['code']} {d['confidence']}" for d in report["diagnoses"])
    if report["outcome"] not in ("healthy", "slow") or report["deadlock"] != "no":
        return f"{report['outcome']}, deadlock {report['deadlock']}: {codes}"
    if any("certain" in (d["confidence"], d["culprit_confidence"]) for d in report["diagnoses"]):
        return f"certain of {codes}"
    return ""
