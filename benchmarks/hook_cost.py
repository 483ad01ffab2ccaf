"""What the probe's hooks cost a training step: `python benchmarks/hook_cost.py`.

Two gloo ranks take DDP steps of a small model. Blocks of steps with an active page alternate, in the same process, with
blocks in which every hook finds no page and returns, so that load on the machine affects both equally. It prints the
time of a step, the paired median ratios of wall and of the main thread's CPU time (the second says more on a busy
machine) with their 95 % intervals, and each hook's own cost in microseconds of CPU time.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAIRS, STEPS = 60, 40


def main() -> int:
    """Start the two ranks under the probe and print what they measured."""
    with tempfile.TemporaryDirectory(prefix="ddp-") as run:
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "_DDPDOCTOR_RUN": run,
            "_DDPDOCTOR_WATCH_PID": str(os.getpid()),
            "PYTHONPATH": str(ROOT / "ddpdoctor" / "probe" / "plugin"),
        }
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        done = subprocess.run(
            [*command, __file__, "--rank"], env=environment, capture_output=True, text=True, check=True
        )
    measured = json.loads(done.stdout)
    print(f"a step takes {measured['step'] * 1e6:.0f} us; with the page it takes")
    high = 0.0
    for clock in ("cpu", "wall"):
        ratios: list[float] = measured[clock]
        low, high = interval(ratios)
        print(f"  {statistics.median(ratios):.4f} times as much {clock} time, 95 % interval {low:.4f} to {high:.4f}")
    for name, (inert, armed) in measured["hooks"].items():
        print(f"{name:<12} {inert:7.2f} us, armed {armed:7.2f} us, {armed / inert:5.2f} times")
    return 0 if high < 1.02 else 1


def interval(ratios: list[float], rounds: int = 2000) -> tuple[float, float]:
    """The 95 % bootstrap interval of the median."""
    source = random.Random(0)
    medians = sorted(statistics.median(source.choices(ratios, k=len(ratios))) for _ in range(rounds))
    return medians[int(rounds * 0.025)], medians[int(rounds * 0.975)]


@contextmanager
def inert() -> Iterator[None]:
    """Every hook finds no page."""
    state: Any = sys.modules["_ddpdoctor_probe.state"]
    page, state.page = state.page, None
    try:
        yield
    finally:
        state.page = page


def best(work: Callable[[], object], calls: int) -> float:
    """Microseconds of one call, the best of some rounds."""
    rounds: list[float] = []
    for _ in range(7):
        start = time.thread_time()
        for _ in range(calls):
            work()
        rounds.append((time.thread_time() - start) / calls)
    return min(rounds) * 1e6


def rank() -> None:
    """One rank: pairs of blocks, then each hook alone."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DataLoader

    dist.init_process_group("gloo")
    torch.manual_seed(0)
    layers = [torch.nn.Linear(128, 128) for _ in range(4)]
    model = DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.randn(32 * STEPS, 128)

    def block() -> tuple[float, float]:
        dist.barrier()
        start, busy = time.perf_counter(), time.thread_time()
        for batch in DataLoader(data, batch_size=32):
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
        return time.perf_counter() - start, time.thread_time() - busy

    block()
    wall: list[float] = []
    cpu: list[float] = []
    times: list[float] = []
    for pair in range(PAIRS):
        # ABBA: a drift of the machine falls on both.
        if pair % 2:
            armed = block()
        with inert():
            without = block()
        if not pair % 2:
            armed = block()
        times.append(without[0])
        wall.append(armed[0] / without[0])
        cpu.append(armed[1] / without[1])

    leaf = torch.ones(2, requires_grad=True)
    iterator = iter(DataLoader(range(10_000_000), batch_size=None))
    tensor = torch.ones(4)
    alone, _ = dist.new_group([0]), dist.new_group([1])
    hooks: dict[str, tuple[Callable[[], object], int]] = {
        "batch": (lambda: next(iterator), 5000),
        "forward": (lambda: model(data[:1]), 500),
        "backward": (lambda: leaf.sum().backward(), 3000),
        "step": (optimizer.step, 1000),
    }
    if dist.get_rank() == 0:
        hooks["all_reduce"] = (lambda: dist.all_reduce(tensor, group=alone), 2000)
    costs: dict[str, tuple[float, float]] = {}
    for name, (work, calls) in hooks.items():
        with inert():
            unarmed = best(work, calls)
        costs[name] = (unarmed, best(work, calls))
    if dist.get_rank() == 0:
        print(json.dumps({"step": statistics.median(times) / STEPS, "wall": wall, "cpu": cpu, "hooks": costs}))
    dist.destroy_process_group()


if __name__ == "__main__":
    if sys.argv[1:] == ["--rank"]:
        rank()
    else:
        sys.exit(main())
