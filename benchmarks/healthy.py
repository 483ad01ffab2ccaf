"""Healthy but unusual jobs, run many times: each seed gives another number of ranks, steps and seconds.

The kinds are the programs of tests/e2e/healthy, some of them on several nodes as well (healthy_nodes.py), the cured
programs of the fixtures, and the harmless programs of benchmarks/unseen that were run before (a first run measures what
nobody has looked at); of all these, those that import nothing that is not installed. Results are in
benchmarks/healthy_runs.jsonl.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib.util
import os
import random
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import first_runs, healthy_nodes, measured
from benchmarks.first_runs import Expected
from benchmarks.ledger import Ledger, Task
from ddpdoctor.repro.case import Case
from ddpdoctor.repro.catalogue import load_all, root
from ddpdoctor.repro.runner import launch_command, missing_packages
from tests.e2e.job import STARTUP, Report, forked, torchrun, watch
from tests.e2e.nodes import obstacle

PROGRAMS = Path(__file__).parents[1] / "tests" / "e2e" / "healthy"
RESULTS = measured.ROOT / "benchmarks" / "healthy_runs.jsonl"
#: before the name of a program of benchmarks/unseen, of one that runs on several nodes, and of a fixture that is cured
UNSEEN, NODES, CURED = "unseen", "nodes/", "cured/"
#: seconds that a job may take beside its start
LONGEST = 180.0
#: the least number of ranks, where two are too few
LEAST = {"broadcast_and_subgroup_barrier": 3}
#: in these one rank works for longer than the patience below, which must be called slow and nothing else
WORKING = frozenset(
    {
        *("slow_compiling", "slow_node", "slow_piping", "slow_polling", "slow_reading", "slow_saving"),
        "slow_tokenizing",
    }
)
#: options for torchrun of those kinds that need it
RESTARTING = {"elastic_restart": ("--max-restarts", "2")}
#: in these a rank is lost and the launcher starts all again: a crash is true of that attempt
LOSING = frozenset({*RESTARTING, "unseen/plain_b/elastic_wav_restart"})
#: seeds from this one on are started by a launcher that imports torch once for all ranks, at half the cost
UNDER_TORCHRUN = 1
#: what a rank prints that torch itself aborts at the interpreter's end: a thread of gloo still holds an operation whose
#: tensor is Python's (pytorch issue 190489 and pull request 179291). The job is lost, and a crash is true of it
ABORTED = "terminate called without an active exception"
#: seconds for --stall-after with every other run, a minute's work being as many seconds as the program sleeps
PATIENCE, SHORT_PATIENCE = "8", "5"


@dataclass(frozen=True, slots=True)
class Said:
    """The gist of one report."""

    outcome: str
    deadlock: str
    #: "DD231 likely" of each diagnosis
    diagnoses: tuple[str, ...]
    #: anything was called certain: a cause, or the blamed ranks
    certain: bool

    @staticmethod
    def of(report: Report) -> Said:
        told = report["diagnoses"]
        return Said(
            report["outcome"],
            report["deadlock"],
            tuple(f"{one['code']} {one['confidence']}" for one in told),
            any("certain" in (one["confidence"], one["culprit_confidence"]) for one in told),
        )

    @property
    def true_of_an_attempt(self) -> bool:
        """It is about an attempt that failed, in a job that is started again."""
        return self.outcome == "crash" and self.deadlock == "no"

    @property
    def alarm(self) -> str:
        """Why this is a false alarm about a healthy job; "" if it is none. Slow it may be called."""
        codes = ", ".join(self.diagnoses)
        if self.outcome not in ("healthy", "slow") or self.deadlock != "no":
            return f"{self.outcome}, deadlock {self.deadlock}: {codes}"
        return f"certain of {codes}" if self.certain else ""


@dataclass(frozen=True, slots=True)
class HealthyRun:
    """One healthy job, and what was said of it."""

    kind: str
    seed: int
    ranks: int
    #: of `ddpdoctor watch`
    options: tuple[str, ...]
    #: every distinct report, oldest first
    said: tuple[Said, ...]
    #: exit status, None if it did not end in time
    status: int | None
    seconds: float
    #: busy processes beside it, and the load average of the machine (1 minute) when it ended
    load: int = 0
    load_average: float = 0.0
    engine: str = ""
    commit: str = ""
    #: a rank was aborted at its end (see ABORTED)
    aborted: bool = False

    @property
    def key(self) -> str:
        """The same run has the same key in every invocation."""
        return f"{self.kind}/{self.seed}"

    @property
    def alarm(self) -> str:
        """What was false, "" if nothing was: a healthy job was called more than slow, or did not end well."""
        for one in self.said:
            if one.alarm and not ((self.aborted or _loses_a_rank(self.kind)) and one.true_of_an_attempt):
                return one.alarm
        if self.status is None:
            return "did not end in time"
        return f"exit status {self.status}" if self.status and not self.aborted else ""

    @property
    def slow(self) -> bool:
        """A rank was called slow, as one is for which the others wait."""
        return any(one.outcome == "slow" for one in self.said)

    @property
    def stopping(self) -> bool:
        """It would have been stopped if it had been called a hang."""
        return "stop" in self.options

    @property
    def is_miss(self) -> bool:
        return bool(self.alarm)

    def in_words(self) -> str:
        said = f"FALSE ALARM {self.alarm}" if self.alarm else "slow" if self.slow else "ok"
        options = " ".join(self.options) or "defaults"
        return f"{said}; {self.ranks} ranks, {options}, {self.seconds:.0f} s, load average {self.load_average:.1f}"


def ledger(file: Path = RESULTS, *, fresh: bool = False) -> Ledger[HealthyRun]:
    """What has been run with the present engine."""
    return Ledger(file, _decode, fresh=fresh)


def _decode(told: dict[str, Any]) -> HealthyRun:
    said = tuple(Said(**{**one, "diagnoses": tuple(one["diagnoses"])}) for one in told["said"])
    return HealthyRun(**{**told, "options": tuple(told["options"]), "said": said})


def tasks(seeds: int, results: Ledger[HealthyRun], load: int = 0) -> Iterator[Task[HealthyRun]]:
    """`seeds` runs of every kind, so ordered that any part of them is a sample of the whole."""
    for seed in range(seeds):
        for kind in kinds():
            make = functools.partial(run, kind, seed, load=load)
            yield Task(f"{kind}/{seed}", results, make)


@functools.cache
def kinds() -> tuple[str, ...]:
    """Names of the kinds of healthy job."""
    own = sorted(path.stem for path in PROGRAMS.glob("[a-z]*.py"))
    return (*own, *(() if obstacle() else (NODES + kind for kind in healthy_nodes.KINDS)), *_cured(), *_strangers())


def _loses_a_rank(kind: str) -> bool:
    """Whether a rank of such a job is really lost before all is started again."""
    program = _strangers().get(kind)
    return kind in LOSING or (program is not None and program.failure is not None)


@functools.cache
def _cured() -> dict[str, Case]:
    """The fixtures whose cured program can be run here, by kind; those that harm in silence measure that themselves."""
    known = (case for case in load_all(root()) if not case.needs and case.harm is None)
    return {CURED + case.name: case for case in known if not missing_packages(case)}


@functools.cache
def _strangers() -> dict[str, Expected]:
    """The harmless programs of benchmarks/unseen that can be run here, by kind."""
    found = {}
    for name, runs in first_runs.sets().items():
        looked_at = {run.name for run in runs if run.harmless and not run.invalid}
        for folder in sorted(first_runs.SETS / name / program for program in looked_at):
            if not missing(folder):
                found[f"{UNSEEN}/{name}/{folder.name}"] = first_runs.read(folder)
    return found


def missing(folder: Path) -> frozenset[str]:
    """Modules that the programs in the folder import and that are not installed here."""
    imported = set()
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.partition(".")[0])
    own = {path.stem for path in folder.rglob("*")}
    return frozenset(name for name in imported - own if importlib.util.find_spec(name) is None)


def options(kind: str, seed: int) -> tuple[str, ...]:
    """Of `watch`: every other run of a kind has little patience and may be stopped, about half of those with a seed."""
    if (seed + zlib.crc32(kind.encode())) % 2:
        return ()
    short = kind.removeprefix(NODES) in WORKING
    return ("--stall-after", SHORT_PATIENCE if short else PATIENCE, "--on-hang", "stop")


def command(kind: str, ranks: int, *arguments: str, under_torchrun: bool = False) -> list[str]:
    """How a kind is started: by torchrun where it needs it or it is asked for, else with one import for all ranks."""
    program = PROGRAMS / f"{kind}.py"
    if kind in RESTARTING or under_torchrun:
        return torchrun(program, ranks, *arguments, options=RESTARTING.get(kind, ()))
    return forked(program, ranks, *arguments)


def run(kind: str, seed: int, folder: Path, stop: threading.Event, load: int = 0) -> HealthyRun:
    """Run one job to its end under `ddpdoctor watch`, beside `load` busy processes that somebody else has started."""
    if kind.startswith(NODES):
        return _on_nodes(kind, seed, folder, stop, load)
    ranks, longest, started = _started(kind, seed)
    done = watch(started, folder, *options(kind, seed), timeout=STARTUP + longest, stop=stop)
    made = HealthyRun(kind, seed, ranks, options(kind, seed), _gist(done.reports), done.status, done.seconds, load)
    return _result(dataclasses.replace(made, aborted=ABORTED in done.stderr))


def _started(kind: str, seed: int) -> tuple[int, float, list[str]]:
    """Number of ranks, the most seconds beside the start, and the command."""
    stranger, cured = _strangers().get(kind), _cured().get(kind)
    if stranger:
        return stranger.ranks, stranger.seconds, first_runs.command(stranger)
    if cured:
        if cured.launcher == "torchrun" and seed >= UNDER_TORCHRUN:
            return cured.ranks, LONGEST, forked(cured.fixed, cured.ranks)
        return cured.ranks, LONGEST, launch_command(cured.launcher, cured.fixed, cured.ranks)
    ranks = max(LEAST.get(kind, 2), random.Random(f"{kind} {seed}").randint(2, 4))
    return ranks, LONGEST, command(kind, ranks, "--seed", str(seed), under_torchrun=seed < UNDER_TORCHRUN)


def _on_nodes(kind: str, seed: int, folder: Path, stop: threading.Event, load: int) -> HealthyRun:
    began, own = time.monotonic(), options(kind, seed)
    ranks, reports, status = healthy_nodes.run(kind.removeprefix(NODES), seed, folder, own, stop)
    return _result(HealthyRun(kind, seed, ranks, own, _gist(reports), status, time.monotonic() - began, load))


def _gist(reports: Iterable[Report]) -> tuple[Said, ...]:
    return tuple(Said.of(report) for report in reports)


def _result(done: HealthyRun) -> HealthyRun:
    """With the circumstances of the run."""
    return dataclasses.replace(
        done,
        seconds=round(done.seconds, 1),
        load_average=round(os.getloadavg()[0], 1),
        engine=measured.engine(),
        commit=measured.commit(),
    )
