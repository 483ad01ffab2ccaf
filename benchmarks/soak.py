"""Does anything grow, or stay? `python -m benchmarks.soak` watches one job for half an hour.

The job (tests/e2e/programs/soaking.py) has steps of random length, data workers that come and go, subgroups that are
made and destroyed, and is started again twice by its launcher. Every few seconds the memory (anonymous pages: what a
process has allocated; shares of files that it maps change with every other process that maps them), open descriptors
and threads of `ddpdoctor watch` and of the ranks are read, and the bytes and files of the run folder.

A straight line is fitted to each process's values, its first part left out; what is told is the growth in an hour with
its interval of 95 %. Exit status 1 if a growth is surely above what is allowed (LIMITS), if anything but the planned
failures was told of the job, or if a process or a file is left behind.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import re
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks import measured
from benchmarks.healthy import Said
from tests.e2e.job import Report, torchrun, watch

PROGRAM = measured.ROOT / "tests" / "e2e" / "programs" / "soaking.py"
RANKS = 3
#: collectives that torch's recorder keeps, in place of the 2,000 that `watch` asks for: what the largest answer needed
#: stays with the thread of torch's server that gave it, some 11 MB for 2,000, and each of the first four or five,
#: one in five minutes, comes from a thread of its own
RECORDED = 20
#: seconds between two readings; and those of a process's life that are left out, a third of it at most: histories are
#: rings that fill in the first minutes
BETWEEN, WARMING = 5.0, 600.0
#: readings from which a line is fitted
ENOUGH = 24
#: growth in an hour that is allowed: MB, descriptors, threads, MB of the run folder, its files
LIMITS: Mapping[str, float] = {"MB": 4.0, "descriptors": 1.0, "threads": 1.0, "folder MB": 1.0, "files": 6.0}
#: how a line begins that tells of an early sign: a hint, and in this job a false one
SIGN = "ddpdoctor: early sign"
#: pages of a process's own, in proc(5): a kilobyte is 1024 bytes there
_ALLOCATED = re.compile(r"^(Anonymous|Swap): +([0-9]+) kB$", re.MULTILINE)
#: two-sided, normal: there are hundreds of readings
DEVIATIONS = 1.96


@dataclass(frozen=True, slots=True)
class Growth:
    """Of one value of one process, in an hour."""

    who: str
    what: str
    first: float
    last: float
    slope: float
    #: half of the interval
    error: float

    @property
    def is_too_much(self) -> bool:
        return self.slope - self.error > LIMITS[self.what]

    def __str__(self) -> str:
        values = f"{self.first:8.1f} -> {self.last:8.1f}"
        return f"{self.who:8} {self.what:12} {values}   {self.slope:+.2f} ± {self.error:.2f} an hour"


def growth(who: str, what: str, readings: Sequence[tuple[float, float]]) -> Growth:
    """The line through readings of (seconds, value); values that repeat each other say less than their number, so the
    interval is widened by how much neighbours resemble each other."""
    times, values = [time / 3600 for time, _ in readings], [value for _, value in readings]
    slope, start = statistics.linear_regression(times, values)
    rest = [value - (start + slope * time) for time, value in zip(times, values, strict=True)]
    spread = sum((time - statistics.fmean(times)) ** 2 for time in times)
    variance = sum(one * one for one in rest) / (len(rest) - 2)
    alike = sum(a * b for a, b in itertools.pairwise(rest)) / (sum(one * one for one in rest) or 1.0)
    alike = min(max(alike, 0.0), 0.98)
    error = DEVIATIONS * math.sqrt(variance / spread * (1 + alike) / (1 - alike))
    return Growth(who, what, values[0], values[-1], slope, error)


class Readings:
    """Values of `watch`, its ranks and the run folder over time, by process."""

    def __init__(self) -> None:
        self._series: dict[tuple[str, int, str], list[tuple[float, float]]] = defaultdict(list)

    def take(self) -> None:
        """Read everything once."""
        now = time.monotonic()
        runs = set()
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                who = _role(process)
                if who:
                    for what, value in _values(process):
                        self._series[who, process.pid, what].append((now, value))
                    runs.add(process.environ().get("_DDPDOCTOR_RUN", ""))
        for folder in runs - {""}:
            with suppress(OSError):
                files = [path.lstat() for path in Path(folder).rglob("*")]
                self._series["folder", 0, "files"].append((now, float(len(files))))
                self._series["folder", 0, "folder MB"].append((now, sum(one.st_blocks for one in files) * 512 / 1e6))

    def save(self, path: Path) -> None:
        """Write all values down: whose, process, what, seconds, value."""
        with path.open("w", encoding="utf-8") as file:
            for (who, pid, what), readings in sorted(self._series.items()):
                file.writelines(f"{who},{pid},{what},{time:.1f},{value}\n" for time, value in readings)

    def growths(self) -> Iterator[Growth]:
        """Of all that was read for long enough, while there were ranks: at the end whole pages are read for once."""
        over = max(
            (readings[-1][0] for (who, *_), readings in self._series.items() if who.startswith("rank")), default=0.0
        )
        for (who, _, what), readings in sorted(self._series.items()):
            begin = readings[0][0] + min(WARMING, (readings[-1][0] - readings[0][0]) / 3)
            kept = [one for one in readings if begin <= one[0] <= over]
            if len(kept) >= ENOUGH:
                yield growth(who, what, kept)


def _role(process: psutil.Process) -> str:
    command = process.cmdline()
    if str(PROGRAM) not in command or process.name() == "py-spy":
        return ""
    if "watch" in command:
        return "watch"
    parent = process.parent()
    if "torchrun" in " ".join(command[:2]) or parent is None or str(PROGRAM) in parent.cmdline()[:3]:
        return ""  # the launcher; data workers, which live for an epoch
    return f"rank {process.environ().get('RANK', '?')}"


def _values(process: psutil.Process) -> Iterator[tuple[str, float]]:
    rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="ascii")
    kilobytes = {name: int(number) for name, number in _ALLOCATED.findall(rollup)}
    yield "MB", sum(kilobytes.values()) * 1024 / 1e6
    yield "descriptors", float(process.num_fds())
    yield "threads", float(process.num_threads())


def soak(minutes: float, seed: int, folder: Path, tell: Callable[[str], None]) -> Iterator[str]:
    """Run the job, and tell what grew; yields what went wrong."""
    os.environ["TORCH_FR_BUFFER_SIZE"] = str(RECORDED)
    command = torchrun(PROGRAM, RANKS, str(folder), f"{minutes:g}", str(seed), options=("--max-restarts", "2"))
    readings, over = Readings(), threading.Event()

    def read() -> None:
        while not over.wait(BETWEEN):
            readings.take()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        done = watch(command, folder / "watched", "--on-hang", "stop", timeout=minutes * 60 + 600)
    finally:
        over.set()
        reader.join()
        readings.save(folder / "readings.csv")
    for one in readings.growths():
        tell(f"{one}{'   TOO MUCH' if one.is_too_much else ''}")
        if one.is_too_much:
            yield f"grows: {one}"
    tell(done.stdout.strip())
    if done.status:
        yield f"exit status {done.status}"
    yield from _alarms(done.reports)
    yield from (f"told: {line[:200]}" for line in done.stderr.splitlines() if line.startswith(SIGN))
    yield from _left()


def _alarms(reports: Sequence[Report]) -> Iterator[str]:
    for report in reports:
        said = Said.of(report)
        if said.alarm and not said.true_of_an_attempt:
            yield f"told: {said.alarm}"


def _left() -> Iterator[str]:
    time.sleep(2.0)
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if str(PROGRAM) in process.cmdline():
                yield f"left running: {' '.join(process.cmdline())[:200]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long the job runs (default: 30)")
    parser.add_argument("--seed", type=int, default=1, help="decides about lengths of steps and groups (default: 1)")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    wrong = list(soak(args.minutes, args.seed, folder, print))
    for one in wrong:
        print("WRONG", one)
    if wrong:
        print(f"see {folder}")
    else:
        shutil.rmtree(folder)
    print(f"{args.minutes:g} minutes, seed {args.seed}, commit {measured.commit()}: {len(wrong)} things went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
