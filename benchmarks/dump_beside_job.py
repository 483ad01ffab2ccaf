"""Whether looks disturb a job: `python -m benchmarks.dump_beside_job [DUMPS]`, 50 unless told otherwise.

A healthy job of 4 ranks with steps of 0.3 s runs, and while it does, stretches of steps with looks and without any take
turns, so that what else the machine does is in both: the ratio of rank 0's median step times. It is an error if the job
does not end as one that nobody looked at. Exit status 1 if the 95 % interval of the ratio lies above LIMIT.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import figures
from benchmarks.figures import Figure
from benchmarks.measured import ROOT
from ddpdoctor.repro.runner import launch_command, started

RANKS = 4
STEP = 0.3
LIMIT = 1.05
#: looks of one stretch
_TOGETHER = 5
_PROGRAM = ROOT / "tests" / "e2e" / "programs" / "slow_steps.py"


def main() -> int:
    return figures.tell(measure(figures.count(50)))


def measure(dumps: int) -> list[Figure]:
    """How long a step takes beside looks. Raises RuntimeError if the job ended in another way than one alone."""
    alone_status, alone_said, _ = _run(0)
    status, said, stretches = _run(dumps)
    if (status, said) != (alone_status, alone_said):
        raise RuntimeError(f"the job did not end as one that nobody looked at: status {status}\n{said}")
    ratios = [statistics.median(beside) / statistics.median(quiet) for beside, quiet in stretches]
    what = f"a step of {STEP} s while somebody looks, {dumps} looks"
    return [figures.paired(what, [ratios], limit=LIMIT, each=f"stretches of {_TOGETHER} looks")]


def _run(dumps: int) -> tuple[int, str, list[tuple[list[float], list[float]]]]:
    """The job's exit status and output, and the step times of each stretch with looks and of the one without."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [*launch_command("torchrun", _PROGRAM, RANKS), str(folder), str(STEP)]
        with started(command, folder / "log", {}) as job:
            while job.poll() is None and len(_steps(folder)) < 5:
                time.sleep(STEP)
            stretches = [_stretch(folder, job.pid) for _ in range(dumps // _TOGETHER)]
            (folder / "enough").touch()
            status = job.wait()
        return status, (folder / "log").read_text(), stretches


def _stretch(folder: Path, pid: int) -> tuple[list[float], list[float]]:
    began, first = time.monotonic(), len(_steps(folder))
    for _ in range(_TOGETHER):
        command = [sys.executable, "-m", "ddpdoctor", "dump", str(pid), "--json"]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    middle = len(_steps(folder)) + 1  # the step that has begun beside the last look
    time.sleep(time.monotonic() - began)
    lengths = _steps(folder)
    return lengths[first:middle], lengths[middle:]


def _steps(folder: Path) -> list[float]:
    try:
        return [float(line) for line in (folder / "0.steps").read_text().splitlines()]
    except FileNotFoundError:
        return []


if __name__ == "__main__":
    sys.exit(main())
