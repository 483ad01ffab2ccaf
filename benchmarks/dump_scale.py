"""`diagnose` on many recorder dumps: culprit, time and memory, compared with torch's own analyzer.

    python -m benchmarks.dump_scale --folder /var/tmp/dumps --torch 1024

Dumps are written once for each size (16,384 ranks x 500 operations need 3.2 GB) and kept. Memory is the proportional
set size of the whole process tree, sampled; time is that of a fresh process, from start to exit. Torch's
analyzer needs an environment (benchmarks/peers.py).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks import figures, peers
from benchmarks.dumps.__main__ import write
from benchmarks.dumps.jobs import Family, job
from benchmarks.dumps.plot import Series, plot
from benchmarks.figures import Figure, Unit

SIZES = (64, 256, 1024, 4096, 16384)
#: operations of each ring, and of those that are written for the culprits alone
ENTRIES, FEW = 500, 60
#: what must hold: times as fast as torch's analyzer, share of its memory, seconds and bytes at the largest size
TIMES, SHARE, MOST_SECONDS, MOST_BYTES = 10.0, 0.25, 25.0, 1 << 30
_SAMPLE = 0.02


@dataclass(frozen=True, slots=True)
class Cost:
    """One run of a command."""

    status: int
    wall: float
    processor: float
    memory: int
    output: str

    def __str__(self) -> str:
        return f"{self.wall:7.2f} s  {self.processor:7.2f} s of processor  {self.memory / 1e6:6.0f} MB"


def measure(command: Sequence[str]) -> Cost:
    """Run it to its end, looking at the memory of its processes on the way."""
    started, before, peak = time.monotonic(), os.times(), 0
    with tempfile.TemporaryFile() as output:
        process = psutil.Popen(command, stdout=output, stderr=subprocess.DEVNULL)
        while process.poll() is None:
            peak = max(peak, _memory(process))
            time.sleep(_SAMPLE)
        wall, after = time.monotonic() - started, os.times()
        output.seek(0)
        text = output.read().decode(errors="replace")
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return Cost(process.returncode, wall, processor, peak, text)


def _memory(process: psutil.Process) -> int:
    total = 0
    try:
        family = [process, *process.children(recursive=True)]
    except psutil.Error:
        return 0
    for member in family:
        try:
            total += member.memory_full_info().pss
        except (psutil.Error, OSError):
            continue
    return total


def diagnose(folder: Path) -> tuple[Cost, tuple[str, list[int]]]:
    """The cost, and (code, culprits) of the first diagnosis."""
    report = folder.parent / f"{folder.name}.json"
    cost = measure([sys.executable, "-m", "ddpdoctor", "diagnose", "--json", str(report), str(folder)])
    first: dict[str, Any] = next(iter(json.loads(report.read_text())["diagnoses"]), {"code": "", "culprits": []})
    return cost, (first["code"], first["culprits"])


def dumps_of(folder: Path, family: Family, ranks: int, entries: int) -> Path:
    """The folder of a synthetic job's dumps, written if it is not there yet."""
    target = folder / f"{family.value}-{ranks}-{entries}"
    if not target.exists():
        write(job(family, ranks, entries), target.with_suffix(".new"))
        target.with_suffix(".new").rename(target)
    return target


def culprits(folder: Path, sizes: Sequence[int]) -> int:
    """Every mistake at every size, with short rings; the number of wrong verdicts."""
    wrong = 0
    for size in (8, *sizes):
        for family in Family:
            this = job(family, size, FEW)
            target = dumps_of(folder, family, size, FEW)
            _, found = diagnose(target)
            right = found == (this.code, list(this.culprits))
            wrong += not right
            print(
                f"  {family.value:12} {size:6} ranks  {found[0]} {found[1]}  {'right' if right else 'WRONG'}",
                flush=True,
            )
            shutil.rmtree(target)
    return wrong


def growth(folder: Path, sizes: Sequence[int], svg: Path | None) -> int:
    """Time and memory by size; the number of limits that were missed."""
    start = min(diagnose(dumps_of(folder, Family.MISSING, 8, FEW))[0].processor for _ in range(3))
    print(f"  the program's own start  {start:.2f} s of processor", flush=True)
    costs = []
    for size in sizes:
        cost, _ = diagnose(dumps_of(folder, Family.MISSING, size, ENTRIES))
        costs.append(cost)
        each = 1e3 * (cost.processor - start) / size
        print(f"  {size:6} ranks x {ENTRIES}  {cost}  {each:5.2f} ms a rank behind the start", flush=True)
    if svg is not None:
        svg.write_text(picture(sizes, [cost.processor for cost in costs], start))
    large = [cost for cost, size in zip(costs, sizes, strict=True) if size >= SIZES[-1]]
    return sum((cost.wall > MOST_SECONDS) + (cost.memory > MOST_BYTES) for cost in large)


def picture(sizes: Sequence[int], seconds: Sequence[float], start: float) -> str:
    """Processor time for each rank, with the program's own start and without."""
    whole = tuple(1e3 * spent / size for spent, size in zip(seconds, sizes, strict=True))
    behind = tuple(1e3 * (spent - start) / size for spent, size in zip(seconds, sizes, strict=True))
    series = (Series("with the program's start", whole), Series("reading and judging alone", behind))
    return plot("diagnose: recorder dumps of 500 operations", "ms of processor time a rank", sizes, series)


def beside_torch(folder: Path, ranks: int, pairs: int) -> list[Figure]:
    """The same dumps through both, one after the other. Raises RuntimeError if torch's analyzer cannot run."""
    packages = peers.packages()
    if packages is None:
        raise RuntimeError(f"{peers.FOLDER} has no tabulate, which torch's analyzer prints with")
    target = dumps_of(folder, Family.MISSING, ranks, ENTRIES)
    beside = [
        *("env", f"PYTHONPATH={os.environ.get('PYTHONPATH', '')}{os.pathsep}{packages}", sys.executable),
        *("-m", "torch.distributed.flight_recorder.fr_trace", str(target), "-p", "nccl_trace_rank_"),
    ]
    found: list[tuple[Cost, Cost]] = []
    for number in range(pairs):
        costs = {ours: diagnose(target)[0] if ours else measure(beside) for ours in (bool(number % 2), not number % 2)}
        if costs[False].status:
            raise RuntimeError(f"torch's analyzer ended with status {costs[False].status}")
        found.append((costs[True], costs[False]))
    what = f"{ranks:,} dumps of {ENTRIES} operations"
    return [
        figures.paired(f"{what}: time, of torch's", [[o.wall / t.wall for o, t in found]], limit=1 / TIMES),
        figures.paired(f"{what}: processor time, of torch's", [[o.processor / t.processor for o, t in found]]),
        figures.paired(f"{what}: memory, of torch's", [[o.memory / t.memory for o, t in found]], limit=SHARE),
        figures.repeated(f"{what}: ours", [ours.wall for ours, _ in found], Unit.SECONDS),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "ddpdoctor-dumps")
    parser.add_argument("--most", type=int, default=SIZES[-1], help="the largest number of ranks")
    parser.add_argument("--torch", type=int, metavar="RANKS", help="compare with torch's analyzer on so many dumps")
    parser.add_argument("--pairs", type=int, default=3, help="of runs of both analyzers (default: 3)")
    parser.add_argument("--svg", type=Path, help="write the plot of cost per rank there")
    parser.add_argument("--only", choices=("culprits", "growth", "torch"))
    given = parser.parse_args()
    sizes = [size for size in SIZES if size <= given.most]
    given.folder.mkdir(parents=True, exist_ok=True)
    missed = 0
    if given.only in (None, "culprits"):
        print("culprits")
        missed += culprits(given.folder, [size for size in sizes if size in (64, 1024, 16384)])
    if given.only in (None, "growth"):
        print("growth")
        missed += growth(given.folder, sizes, given.svg)
    if given.torch and given.only in (None, "torch"):
        print("beside torch's analyzer")
        missed += figures.tell(beside_torch(given.folder, given.torch, given.pairs))
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
