"""What `watch` adds to the end of a healthy job: `python -m benchmarks.shutdown_delay [PAIRS [rank|launcher]]`.

The same job is started alternately alone and under `ddpdoctor watch --quiet`, and SIGTERM is sent to one of its ranks,
or to its launcher; only to the one that is named, if one is. It prints the seconds from the signal until the ranks have
ended, until the launcher has, and until nothing is left, alone and watched, and the median of the paired differences
with its 95 % interval. Exit status 1 if an interval of the last lies above LIMIT.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from benchmarks.measured import ROOT
from benchmarks.paired import interval
from ddpdoctor.repro.runner import launch_command, started

#: seconds
LIMIT = 0.1
RANKS = 2
_MOVES = 1.0
_PAUSE = 0.005
#: when the ranks, the launcher, and everything has ended
_Ends = tuple[float, float, float]
_PROGRAM = ROOT / "tests" / "e2e" / "programs" / "ending.py"
_WATCH = (sys.executable, "-m", "ddpdoctor", "watch", "--quiet", "--")


def main() -> int:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    delayed = False
    for target in sys.argv[2:] or ("rank", "launcher"):
        alone: list[_Ends] = []
        watched: list[_Ends] = []
        for number in range(pairs):
            for is_watched in (True, False) if number % 2 else (False, True):
                (watched if is_watched else alone).append(_ends(target, watched=is_watched))
        print(f"SIGTERM to the {target}, {pairs} pairs, load {os.getloadavg()[0]:.1f}")
        for stage, name in enumerate(("ranks", "launcher", "everything")):
            low = _tell(name, [ends[stage] for ends in alone], [ends[stage] for ends in watched])
        delayed |= low > LIMIT
    return int(delayed)


def _tell(name: str, alone: list[float], watched: list[float]) -> float:
    """Print one stage; the lower end of its interval."""
    differences = [with_it - without for with_it, without in zip(watched, alone, strict=True)]
    low, high = interval([differences])
    print(
        f"  {name} ended after {statistics.median(alone):.2f} s alone, {statistics.median(watched):.2f} s watched; "
        f"difference {statistics.median(differences):+.3f} s ({low:+.3f} to {high:+.3f})",
        flush=True,
    )
    return low


def _ends(target: str, *, watched: bool) -> _Ends:
    """Seconds from SIGTERM until the ranks have ended, the launcher, and all that was started, `watch` among it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [*launch_command("torchrun", _PROGRAM, RANKS), str(folder), "healthy"]
        with started([*(_WATCH if watched else ()), *command], folder / "log", {}) as job:
            ranks = [psutil.Process(pid) for pid in _when_ready(folder, job)]
            launcher = psutil.Process(ranks[0].ppid())
            time.sleep(_MOVES)
            began = time.monotonic()
            os.kill(ranks[1].pid if target == "rank" else launcher.pid, signal.SIGTERM)
            of_ranks = _ended(ranks)
            of_launcher = _ended([launcher])
            job.wait()
            return of_ranks - began, of_launcher - began, time.monotonic() - began


def _ended(processes: list[psutil.Process]) -> float:
    """When the last of these has ended, whether its parent has noticed or not."""
    while any(_runs(process) for process in processes):
        time.sleep(_PAUSE)
    return time.monotonic()


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _when_ready(folder: Path, job: subprocess.Popen[bytes]) -> list[int]:
    files = [folder / f"rank{rank}" for rank in range(RANKS)]
    while not all(file.exists() for file in files):
        if job.poll() is not None:
            sys.exit(f"the job did not start:\n{(folder / 'log').read_text()}")
        time.sleep(0.05)
    return [int(file.read_text()) for file in files]


if __name__ == "__main__":
    sys.exit(main())
