"""What one `ddpdoctor dump` costs: `python -m benchmarks.dump_cost [PAIRS]`, a job of 8 ranks with 16 data workers.

Looks take turns with what a look cannot do without: one `py-spy dump` of each process of the job, one after the other.
The ratios say what ddpdoctor adds. Limit: a look takes two seconds, which a busy machine may not reach.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from benchmarks import figures
from benchmarks.figures import Figure, Unit
from benchmarks.measured import ROOT
from ddpdoctor.repro.runner import launch_command, started

RANKS, WORKERS_OF_EACH = 8, 2
#: seconds
LIMIT = 2.0
_PROGRAM = ROOT / "tests" / "e2e" / "programs" / "many_workers.py"
#: launcher, ranks and workers
_PROCESSES = 1 + RANKS * (1 + WORKERS_OF_EACH)


def main() -> int:
    return figures.tell(measure(figures.count(8)))


def measure(pairs: int) -> list[Figure]:
    log = ROOT / "build" / "dump-cost.log"
    log.parent.mkdir(exist_ok=True)
    looks: list[tuple[float, float]] = []
    alone: list[tuple[float, float]] = []
    with started([*launch_command("torchrun", _PROGRAM, RANKS), str(WORKERS_OF_EACH)], log, {}) as job:
        while len(psutil.Process(job.pid).children(recursive=True)) < _PROCESSES - 1:
            time.sleep(1.0)
        time.sleep(10.0)
        py_spy = str(Path(sys.executable).parent / "py-spy")
        processes = [child.pid for child in psutil.Process(job.pid).children(recursive=True)]
        stacks = [[py_spy, "dump", "--nonblocking", "--pid", str(pid)] for pid in processes]
        for number in range(pairs):
            for ours in (True, False) if number % 2 else (False, True):
                if ours:
                    looks.append(_spent([[sys.executable, "-m", "ddpdoctor", "dump", str(job.pid), "--json"]]))
                else:
                    alone.append(_spent(stacks))
    job_ = f"a look at {RANKS} ranks with {RANKS * WORKERS_OF_EACH} data workers"
    walls, processors = (
        [look[clock] / stack[clock] for look, stack in zip(looks, alone, strict=True)] for clock in (0, 1)
    )
    return [
        figures.repeated(job_, [wall for wall, _ in looks], Unit.SECONDS, LIMIT),
        figures.repeated("its processor time", [processor for _, processor in looks], Unit.SECONDS),
        figures.paired("its time, of that of `py-spy dump` of each process", [walls]),
        figures.paired("its processor time, of theirs", [processors]),
    ]


def _spent(commands: Sequence[Sequence[str]]) -> tuple[float, float]:
    """Seconds of these commands one after the other, and of processors."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    for command in commands:
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, cwd=Path("/"))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - began, used


if __name__ == "__main__":
    sys.exit(main())
