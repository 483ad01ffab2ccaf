"""Of the distinguishable causes (docs/separable.md), most are called certain and none wrongly."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ddpdoctor.repro.catalogue import load_all, root
from tests.e2e.job import STARTUP, Run, is_told, torchrun, watch
from tests.e2e.variants.test_equal_stacks import CAUSES, PROGRAM
from tests.unit.test_separable import DISTINGUISHABLE

#: the share of runs that must be called certain
SHARE = 0.8
#: jobs at a time
AT_ONCE = 2


@dataclass(frozen=True)
class Job:
    """One program with a distinguishable cause."""

    name: str
    code: str
    command: tuple[str, ...]
    seconds: float
    patience: tuple[str, ...] = ()


def jobs() -> list[Job]:
    """Every fixture of such a cause, and the family of equal stacks with the second of three ranks to blame."""
    fixtures = [
        Job(
            case.name,
            case.code,
            tuple(torchrun(case.broken, case.ranks)),
            case.seconds,
            () if case.stall_after is None else ("--stall-after", str(case.stall_after)),
        )
        for case in load_all(root())
        if case.code in DISTINGUISHABLE and not case.needed and case.harm is None
    ]
    family = [
        Job(f"equal-stacks-{cause}", code, tuple(torchrun(PROGRAM, 3, cause, "--culprit", "1")), 30.0)
        for cause, code in sorted(CAUSES.items())
    ]
    return fixtures + family


def _run(job: Job, folder: Path) -> Run:
    return watch(
        job.command,
        folder / job.name,
        *("--on-hang", "stop", *job.patience),
        timeout=STARTUP + job.seconds,
        until=lambda report: is_told(report, "hang") or is_told(report, "slow"),
    )


def test_most_of_what_can_be_told_is_certain(tmp_path: Path) -> None:
    every = jobs()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = list(pool.map(lambda job: _run(job, tmp_path), every))
    said = {job.name: (run.first["code"], run.first["confidence"]) for job, run in zip(every, runs, strict=True)}
    wrong = [
        (job.name, diagnosis["code"])
        for job, run in zip(every, runs, strict=True)
        for diagnosis in run.report["diagnoses"]
        if diagnosis["confidence"] == "certain" and diagnosis["code"] != job.code
    ]
    assert wrong == []
    certain = [job.name for job in every if said[job.name] == (job.code, "certain")]
    assert len(certain) >= SHARE * len(every), said
