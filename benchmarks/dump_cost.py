"""What one `ddpdoctor dump` costs: `python -m benchmarks.dump_cost` looks at a job of 8 ranks with 16 data workers.

Prints the shortest and the median of several looks and the processor time of each, py-spy's included: what else the
machine does makes a look longer, never shorter. Exit status 1 if none takes less than LIMIT seconds, which a busy
machine may not reach.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import psutil

from benchmarks.measured import ROOT
from ddpdoctor.repro.runner import launch_command, started

RANKS, WORKERS_OF_EACH = 8, 2
LOOKS = 8
#: seconds
LIMIT = 2.0
_PROGRAM = ROOT / "tests" / "e2e" / "programs" / "many_workers.py"
#: launcher, ranks and workers
_PROCESSES = 1 + RANKS * (1 + WORKERS_OF_EACH)


def main() -> int:
    log = ROOT / "build" / "dump-cost.log"
    log.parent.mkdir(exist_ok=True)
    with started([*launch_command("torchrun", _PROGRAM, RANKS), str(WORKERS_OF_EACH)], log, {}) as job:
        while len(psutil.Process(job.pid).children(recursive=True)) < _PROCESSES - 1:
            time.sleep(1.0)
        time.sleep(10.0)
        looks = [_look(job.pid) for _ in range(LOOKS)]
    shortest, processor = min(wall for wall, _ in looks), min(cpu for _, cpu in looks)
    median = statistics.median(wall for wall, _ in looks)
    print(
        f"{RANKS} ranks, {RANKS * WORKERS_OF_EACH} data workers: {shortest:.2f} s (median {median:.2f} s), "
        f"{processor:.2f} s of processors"
    )
    return 0 if shortest < LIMIT else 1


def _look(pid: int) -> tuple[float, float]:
    """Seconds of one look, and of processors."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "ddpdoctor", "dump", str(pid), "--json"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False, cwd=Path("/"))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - began, used


if __name__ == "__main__":
    sys.exit(main())
