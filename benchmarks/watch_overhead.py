"""What `watch` costs a training step: `python -m benchmarks.watch_overhead [LAUNCHES]`.

Two jobs of two gloo ranks each take DDP steps of a small model, one under `ddpdoctor watch` and one alone. Both are
there all the time and take turns, block by block, each pair in the other order than the one before, so that the
machine's mood falls on both alike; rank r of either has the same cores. A process is a little faster or slower than its
twin for as long as it lives, so many launches of few pairs say more than the reverse. Printed are the paired median
ratio and its 95 % interval, which must lie under
1.02; status 1 where it does not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from benchmarks.paired import interval, median

RANKS, PAIRS, STEPS, LIMIT = 2, 40, 50, 1.02


class JobInTurns:
    """A job that takes one block of steps each time that it is asked, and tells how long that took."""

    def __init__(self, folder: Path, prefix: list[str], stack: ExitStack) -> None:
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS)]
        self._ways = [folder / f"go.{rank}" for rank in range(RANKS)]
        for path in (*self._ways, folder / "took"):
            os.mkfifo(path)
        with (folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [*prefix, *torchrun, __file__, "--rank", str(folder)],
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        stack.callback(self._end)
        self._log = folder / "log"
        self._go: list[IO[str]] = [stack.enter_context(_opened(path, "w", self._process)) for path in self._ways]
        self._took = stack.enter_context(_opened(folder / "took", "r", self._process))

    def block(self) -> float:
        """Seconds of one block of steps. Raises RuntimeError where the job has ended."""
        for way in self._go:
            way.write("go\n")
            way.flush()
        line = self._took.readline()
        if not line:
            raise RuntimeError(f"the job has ended:\n{self._log.read_text()}")
        return float(line)

    def _end(self) -> None:
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()


@contextmanager
def _opened(path: Path, mode: str, process: subprocess.Popen[bytes]) -> Iterator[IO[str]]:
    """A fifo's end; opening waits for the other end, but not for a job that is gone."""
    flags = os.O_RDONLY if mode == "r" else os.O_WRONLY | os.O_NONBLOCK
    while True:
        try:
            descriptor = os.open(path, flags)
            break
        except OSError:  # ENXIO: nobody reads yet
            if process.poll() is not None:
                raise RuntimeError("the job did not start") from None
            time.sleep(0.05)
    os.set_blocking(descriptor, True)
    with open(descriptor, mode, encoding="utf-8") as file:
        yield file


def main() -> int:
    launches = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    ratios: list[list[float]] = []
    for number in range(launches):
        ratios.append(one_launch(swapped=bool(number % 2)))
        print(f"launch {number + 1} of {launches}: {median([ratios[-1]]):.4f}", file=sys.stderr)
    low, high = interval(ratios)
    print(f"a step under watch takes {median(ratios):.4f} times as long; 95 % interval {low:.4f} to {high:.4f}")
    return 0 if high < LIMIT else 1


def one_launch(*, swapped: bool) -> list[float]:
    """The ratios, watched to alone, of the pairs of two jobs; `swapped` starts the watched one first."""
    watch = [sys.executable, "-m", "ddpdoctor", "watch", "--quiet", "--"]
    with tempfile.TemporaryDirectory(prefix="ddp-") as root, ExitStack() as stack:
        jobs: dict[str, JobInTurns] = {}
        for name in ("watched", "alone") if swapped else ("alone", "watched"):
            folder = Path(root, name)
            folder.mkdir()
            jobs[name] = JobInTurns(folder, watch if name == "watched" else [], stack)
        for job in jobs.values():
            job.block()
        found: list[float] = []
        for pair in range(PAIRS):
            order = ("watched", "alone") if pair % 2 else ("alone", "watched")
            took = {name: jobs[name].block() for name in order}
            found.append(took["watched"] / took["alone"])
        return found


def rank(folder: Path) -> None:
    """One rank: a block for each line that it reads, until there are no more."""
    cores = sorted(os.sched_getaffinity(0))
    share = len(cores) // RANKS
    if share:
        first_core = int(os.environ["LOCAL_RANK"]) * share
        os.sched_setaffinity(0, cores[first_core : first_core + share])
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo")
    torch.manual_seed(0)
    layers = [torch.nn.Linear(256, 256) for _ in range(4)]
    model = DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch = torch.randn(64, 256)
    first = dist.get_rank() == 0
    with open(folder / f"go.{dist.get_rank()}", encoding="utf-8") as go, ExitStack() as stack:
        took = stack.enter_context(open(folder / "took", "w", encoding="utf-8")) if first else None
        for _ in iter(go.readline, ""):
            dist.barrier()
            start = time.perf_counter()
            for _ in range(STEPS):
                optimizer.zero_grad()
                model(batch).square().mean().backward()
                optimizer.step()
            if took is not None:
                print(time.perf_counter() - start, file=took, flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # torch 2.13, gloo: a thread of its own may still let go of a Python object


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        rank(Path(sys.argv[2]))
    else:
        sys.exit(main())
