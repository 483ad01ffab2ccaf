"""What each of the probe's hooks costs alone: `python -m benchmarks.hook_cost [ROUNDS]`.

Two gloo ranks under `ddpdoctor watch` call what is hooked many times over, in rounds with the hook and without it
(benchmarks/hooks_away.py) that take turns. Printed is the difference of a call in microseconds of the thread's
processor time, as the median of the rounds: here everything is in the caches, which it is not between a job's steps.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable

from benchmarks import figures
from benchmarks.figures import Figure, Unit
from benchmarks.hooks_away import Watch
from benchmarks.measured import ROOT

#: the hooks that a step with DDP calls, and the microseconds that they may take together
STEP = ("a batch", "a forward of DDP", "a backward", "an optimizer step")
MOST = 25.0
#: seconds of a round, which decide how many calls it has
_ROUND = 0.05


def main() -> int:
    return figures.tell(measure(figures.count(20)))


def measure(rounds: int) -> list[Figure]:
    """Start the two ranks under watch; the figures that the first of them measured."""
    watch = [sys.executable, "-m", "ddpdoctor", "watch", "--quiet", "--"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*watch, *torchrun, "-m", "benchmarks.hook_cost", "--rank", str(rounds)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    measured: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    step = [sum(together) for together in zip(*(measured[name] for name in STEP), strict=True)]
    return [
        *(figures.paired(name, [differences], Unit.MICROSECONDS) for name, differences in measured.items()),
        figures.paired("a step with DDP: the first four together", [step], Unit.MICROSECONDS, MOST),
    ]


def _calls(work: Callable[[], object]) -> int:
    """How many calls a round has."""
    start, calls = time.thread_time(), 0
    while time.thread_time() - start < _ROUND:
        work()
        calls += 1
    return calls


def _microseconds(work: Callable[[], object], calls: int) -> float:
    start = time.thread_time()
    for _ in range(calls):
        work()
    return (time.thread_time() - start) / calls * 1e6


def rank(rounds: int) -> None:
    """One rank: each hook alone. Only the first one calls the collective, in a group of its own."""
    watch = Watch()
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DataLoader

    dist.init_process_group("gloo")
    model = DistributedDataParallel(torch.nn.Linear(128, 128))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    rows, leaf, tensor = torch.randn(1, 128), torch.ones(2, requires_grad=True), torch.ones(4)
    iterator = iter(DataLoader(range(100_000_000), batch_size=None))
    alone, _ = dist.new_group([0]), dist.new_group([1])
    for _ in range(3):
        optimizer.zero_grad()
        model(rows).square().mean().backward()
        optimizer.step()
    watch.look()
    # the other rank waits here, in the barrier
    found = {}
    if dist.get_rank() == 0:
        hooks: dict[str, Callable[[], object]] = {
            "a batch": lambda: next(iterator),
            "a forward of DDP": lambda: model(rows),
            "a backward": lambda: leaf.sum().backward(),
            "an optimizer step": optimizer.step,
            "`all_reduce`, called by the program": lambda: dist.all_reduce(tensor, group=alone),
        }
        try:
            found = {name: _differences(watch, work, rounds) for name, work in hooks.items()}
        finally:
            watch.turn(on=True)
    dist.barrier()
    if dist.get_rank() == 0:
        print(json.dumps(found))
    dist.destroy_process_group()
    time.sleep(0.2)  # torch 2.13, gloo: a thread of its own may still let go of a Python object


def _differences(watch: Watch, work: Callable[[], object], rounds: int) -> list[float]:
    calls, found = _calls(work), []
    for number in range(rounds):
        took: dict[bool, float] = {}
        for on in (True, False) if number % 2 else (False, True):
            watch.turn(on=on)
            took[on] = _microseconds(work, calls)
        found.append(took[True] - took[False])
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        rank(int(sys.argv[2]))
    else:
        sys.exit(main())
