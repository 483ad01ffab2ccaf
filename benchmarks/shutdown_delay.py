"""What `watch` adds to the end of a healthy job: `python -m benchmarks.shutdown_delay [PAIRS [rank|launcher]]`.

The same job is started alternately alone and under `ddpdoctor watch --quiet`, and SIGTERM is sent to one of its ranks,
or to its launcher; only to the one that is named, if one is. It prints the seconds from the signal until the ranks have
ended, until the launcher has, and until nothing is left: the median of the paired differences and its interval. Exit
status 1 if the interval of the last lies above LIMIT for the launcher: a rank that fails is waited for, as docs/ends.md
says.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from benchmarks import figures
from benchmarks.figures import Figure, Unit
from benchmarks.measured import ROOT
from ddpdoctor.repro.runner import launch_command, started

#: seconds
LIMIT = 0.1
RANKS = 2
TARGETS = ("rank", "launcher")
_MOVES = 1.0
_PAUSE = 0.005
#: when the ranks, the launcher, and everything has ended
_Ends = tuple[float, float, float]
_PROGRAM = ROOT / "tests" / "e2e" / "programs" / "ending.py"
_WATCH = (sys.executable, "-m", "ddpdoctor", "watch", "--quiet", "--")


def main() -> int:
    targets = [word for word in sys.argv[1:] if word in TARGETS] or TARGETS
    return max(figures.tell(measure(target, figures.count(15))) for target in targets)


def measure(target: str, pairs: int) -> list[Figure]:
    """SIGTERM to the `target`: the seconds that everything takes longer to end under watch."""
    alone: list[_Ends] = []
    watched: list[_Ends] = []
    for number in range(pairs):
        for is_watched in (True, False) if number % 2 else (False, True):
            (watched if is_watched else alone).append(_ends(target, watched=is_watched))
    found = []
    for stage, name in enumerate(("the ranks have ended", "the launcher has", "nothing is left")):
        added = [with_it[stage] - without[stage] for with_it, without in zip(watched, alone, strict=True)]
        limit = LIMIT if target == "launcher" and stage == 2 else None
        found.append(figures.paired(f"SIGTERM to the {target}, until {name}", [added], Unit.SECONDS, limit))
    return found


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
