"""What `watch` costs a training step: `python -m benchmarks.watch_overhead [LAUNCHES]`.

Two gloo ranks take DDP steps of a small model under a real `ddpdoctor watch`. Blocks of steps with watch alternate
with blocks without it, in the same processes, each pair in the other order than the one before: without means that
torch's own functions stand where the probe's hooks stood, and that the supervisor is stopped. Printed are the paired
median ratio and its 95 % interval, which must lie under 1.02; status 1 where it does not.

Two jobs side by side, one watched and one alone, say less: a process is up to 10 % faster or slower than its twin for
as long as it lives (60 launches: 1.009, interval 0.987 to 1.022).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

from benchmarks.paired import interval, median

#: a block is longer than the half second from one look of the supervisor at the pages to the next
RANKS, PAIRS, BLOCK, LIMIT = 2, 300, 0.05, 1.02


def main() -> int:
    launches = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    ratios: list[list[float]] = []
    for number in range(launches):
        ratios.append(one_launch())
        print(f"launch {number + 1} of {launches}: {median([ratios[-1]]):.4f}", file=sys.stderr)
    low, high = interval(ratios)
    print(f"a step under watch takes {median(ratios):.4f} times as long; 95 % interval {low:.4f} to {high:.4f}")
    return 0 if high < LIMIT else 1


def one_launch() -> list[float]:
    """The ratios, with watch to without, of the pairs of one job."""
    watch = [sys.executable, "-m", "ddpdoctor", "watch", "--quiet", "--"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS)]
    done = subprocess.run(
        [*watch, *torchrun, __file__, "--rank"],
        # The rank loads the probe itself, once it has seen what torch is without.
        env={**os.environ, "OMP_NUM_THREADS": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: list[float] = json.loads(done.stdout)
    return found


class Watch:
    """Takes watch's hooks away from this process and puts them back, and stops and wakes the supervisor."""

    def __init__(self) -> None:
        import torch
        from torch.autograd.variable import Variable
        from torch.nn.parallel import DistributedDataParallel
        from torch.optim import optimizer
        from torch.utils.data import dataloader

        reducer: Any = torch.distributed.Reducer
        self._places: list[tuple[Any, str]] = [
            (dataloader.DataLoader, "__iter__"),
            (dataloader._BaseDataLoaderIter, "__next__"),
            (DistributedDataParallel, "forward"),
            (reducer, "_rebuild_buckets"),
            (torch.autograd, "backward"),
            (Variable, "_execution_engine"),
        ]
        self._after_step: dict[int, Any] = optimizer._global_optimizer_post_hooks
        without, steps = self._now(), dict(self._after_step)
        torch._import_device_backends()
        self._states = {False: (without, steps), True: (self._now(), dict(self._after_step))}
        if any(hooked is torchs for hooked, torchs in zip(self._states[True][0], without, strict=True)):
            raise RuntimeError("the probe has left one of torch's functions as it was: this would compare equals")
        self._supervisor = int(os.environ["DDPDOCTOR_WATCH_PID"])

    def _now(self) -> list[Any]:
        return [vars(owner)[name] for owner, name in self._places]

    def turn(self, *, on: bool) -> None:
        functions, steps = self._states[on]
        for (owner, name), function in zip(self._places, functions, strict=True):
            setattr(owner, name, function)
        self._after_step.clear()
        self._after_step.update(steps)
        os.kill(self._supervisor, signal.SIGCONT if on else signal.SIGSTOP)


def rank() -> None:
    """One rank: pairs of blocks of the same number of steps, with watch and without."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DataLoader, TensorDataset

    watch = Watch()
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    layers = [torch.nn.Linear(256, 256) for _ in range(4)]
    model = DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    samples = TensorDataset(torch.randn(64, 256))

    def block(steps: int) -> float:
        """Seconds of so many steps."""
        loader = DataLoader(samples, sampler=[0] * steps, batch_size=1)
        dist.barrier()
        start = time.perf_counter()
        for (row,) in loader:
            optimizer.zero_grad()
            model(row.expand(64, 256)).square().mean().backward()
            optimizer.step()
        return time.perf_counter() - start

    block(50)
    pace = torch.tensor([BLOCK / block(50) * 50])
    dist.broadcast(pace, 0)
    found: list[float] = []
    try:
        for pair in range(PAIRS):
            took: dict[bool, float] = {}
            for on in (True, False) if pair % 2 else (False, True):
                watch.turn(on=on)
                took[on] = block(int(pace))
            found.append(took[True] / took[False])
    finally:
        watch.turn(on=True)
    if dist.get_rank() == 0:
        print(json.dumps(found))
    dist.destroy_process_group()
    time.sleep(0.2)  # torch 2.13, gloo: a thread of its own may still let go of a Python object


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        rank()
    else:
        sys.exit(main())
