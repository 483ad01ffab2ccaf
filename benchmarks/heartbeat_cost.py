"""What the probe's threads cost beside the job: `python -m benchmarks.heartbeat_cost [RUNS]`.

A rank with one data worker runs under the probe. The kernel counts the nanoseconds (schedstat) of the rank's heartbeat
and of the worker's thread, while the job communicates and loads all the time and while nothing moves, when the
heartbeat takes stacks once a second. Limits: while the job moves the stacks cost nothing that can be measured (1
microsecond a second); no thread takes more than 0.1 % of a core at any time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import figures
from benchmarks.figures import Figure, Unit
from benchmarks.measured import ROOT

#: seconds of each phase, and until the stacks are there
PHASE, SETTLE = 10.0, 5.0
#: microseconds a second
SHARE_LIMIT, MOVING_LIMIT = 1000.0, 1.0


def main() -> int:
    return figures.tell(measure(figures.count(1)))


def measure(runs: int) -> list[Figure]:
    """So many ranks under the probe, one after the other; each figure is in microseconds of a second."""
    found = [_one() for _ in range(runs)]
    limits = {what: MOVING_LIMIT if "look" in what else SHARE_LIMIT for what in found[0]}
    return [
        figures.repeated(f"{what}, in a second", [one[what] for one in found], Unit.MICROSECONDS, limit)
        for what, limit in limits.items()
    ]


def _one() -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="ddp-") as run:
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "_DDPDOCTOR_RUN": run,
            "_DDPDOCTOR_WATCH_PID": str(os.getpid()),
            "PYTHONPATH": f"{ROOT / 'ddpdoctor' / 'probe' / 'plugin'}{os.pathsep}{ROOT}",
        }
        command = [sys.executable, "-m", "benchmarks.heartbeat_cost", "--rank", run]
        done = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def spent(thread: Path) -> float:
    """Microseconds that a thread has run."""
    return int((thread / "schedstat").read_text().split()[0]) / 1e3


def rate(thread: Path, work: Callable[[], object]) -> float:
    """Microseconds a second that a thread runs while `work` is repeated."""
    began, before = time.monotonic(), spent(thread)
    while time.monotonic() - began < PHASE:
        work()
    return (spent(thread) - before) / (time.monotonic() - began)


def rank(run: str) -> None:
    """Both threads in both phases."""
    import torch
    import torch.distributed as dist
    from torch.utils.data import DataLoader

    dist.init_process_group("gloo", init_method=f"file://{run}/store", rank=0, world_size=1)
    tensor = torch.ones(4)
    time.sleep(1.0)  # the heartbeat's thread gives itself its name
    heart = next(t for t in Path("/proc/self/task").iterdir() if (t / "comm").read_text().strip() == "ddpdoctor")
    batches = iter(DataLoader(range(10**9), num_workers=1))
    next(batches)
    time.sleep(0.5)
    worker: Any = next(iter(batches._workers))
    found = [t for t in Path(f"/proc/{worker.pid}/task").iterdir() if t.name != str(worker.pid)]
    beside = min(found, key=lambda thread: int(thread.name))  # the queue's feeder starts with the first batch

    def move() -> None:
        dist.all_reduce(tensor)
        next(batches)
        time.sleep(0.001)

    costs = {"heartbeat, job moves": rate(heart, move), "thread of a data worker, job moves": rate(beside, move)}
    costs["look of the heartbeat, job moves"] = look(move)
    time.sleep(SETTLE)
    costs["heartbeat, nothing moves"] = rate(heart, lambda: time.sleep(PHASE))
    costs["thread of a data worker, nothing moves"] = rate(beside, lambda: time.sleep(PHASE))
    print(json.dumps(costs))
    dist.destroy_process_group()


def look(move: Callable[[], object]) -> float:
    """Microseconds of what the heartbeat does once a second for the stacks while the page moves, the best of many."""
    stacks: Any = sys.modules["_ddpdoctor_probe.thread_stacks"]
    state: Any = sys.modules["_ddpdoctor_probe.state"]
    heart = stacks.OfRank(state.page)
    rounds = []
    for _ in range(20):
        move()
        start = time.thread_time()
        for _ in range(1000):
            heart.look()
        rounds.append((time.thread_time() - start) / 1000)
    return min(rounds) * 1e6


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        rank(sys.argv[2])
    else:
        sys.exit(main())
