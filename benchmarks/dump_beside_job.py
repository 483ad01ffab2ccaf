"""Whether looks disturb a job: `python -m benchmarks.dump_beside_job [DUMPS]`, 50 unless told otherwise.

A healthy job of 4 ranks with steps of 0.3 s runs, and while it does, stretches of steps with looks and without any take
turns, so that what else the machine does is in both. It prints the distribution of rank 0's step times of both and the
ratio of their medians, and whether the job ended as one that nobody looked at. Exit status 1 if it did not, or if the
95 % interval of the ratio lies above LIMIT.
"""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measured import ROOT
from benchmarks.paired import interval
from ddpdoctor.repro.runner import launch_command, started

RANKS = 4
STEP = 0.3
LIMIT = 1.05
#: looks of one stretch
_TOGETHER = 5
_PROGRAM = ROOT / "tests" / "e2e" / "programs" / "slow_steps.py"


def main() -> int:
    dumps = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    alone_status, alone_said, _ = _run(0)
    status, said, stretches = _run(dumps)
    ratios = [statistics.median(beside) / statistics.median(quiet) for beside, quiet in stretches]
    low, high = interval([ratios])
    for name, lengths in zip(("beside a look", "alone"), zip(*stretches, strict=True), strict=True):
        print(f"{name:>13}: {_distribution(list(itertools.chain(*lengths)))}")
    same = status == alone_status and said == alone_said
    print(
        f"{dumps} looks: a step takes {statistics.median(ratios):.3f} times as long ({low:.3f} to {high:.3f}); "
        f"the job ended {'as' if same else 'UNLIKE'} one alone, status {status}; load {os.getloadavg()[0]:.1f}"
    )
    return int(not same or low > LIMIT)


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


def _distribution(lengths: Sequence[float]) -> str:
    cuts = statistics.quantiles(lengths, n=20)
    return (
        f"{len(lengths)} steps, median {statistics.median(lengths):.3f} s, 5 to 95 % {cuts[0]:.3f} to "
        f"{cuts[-1]:.3f} s, longest {max(lengths):.3f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
