"""What `watch` costs a training step: `python -m benchmarks.watch_overhead [LAUNCHES] [--tiny]`.

Two gloo ranks take DDP steps of a small model, the one of PyTorch's MNIST example, under a real `ddpdoctor watch`.
Blocks of steps with watch alternate with blocks without it, in the same processes, each pair in the reverse order of
the previous one. "Without" means that torch's own functions replace the probe's hooks and that the supervisor is
stopped. It prints the paired median ratio and its 95 % interval, which must be below 1.02; otherwise the exit status is
1. `--tiny` uses four small linear layers instead: in a step of 3 ms the hooks have the largest share.

Two separate jobs, one watched and one not, would show less: a process can be up to 10 % faster or slower than an
identical one for its whole life (60 launches with the tiny model: 1.009, interval 0.987 to 1.022).
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

#: seconds of a block: short, so that the machine's mood is the same in both blocks of a pair
BLOCK = 0.3
RANKS, PAIRS, LIMIT = 2, 30, 1.02


def main() -> int:
    numbers = [int(word) for word in sys.argv[1:] if word.isdecimal()]
    launches = numbers[0] if numbers else 8
    ratios: list[list[float]] = []
    for number in range(launches):
        ratios.append(one_launch(sys.argv[1:]))
        print(f"launch {number + 1} of {launches}: {median([ratios[-1]]):.4f}", file=sys.stderr)
    low, high = interval(ratios)
    print(f"a step under watch takes {median(ratios):.4f} times as long; 95 % interval {low:.4f} to {high:.4f}")
    return 0 if high < LIMIT else 1


def one_launch(options: list[str]) -> list[float]:
    """The ratios, with watch to without, of the pairs of one job; it prints how long its steps are."""
    watch = [sys.executable, "-m", "ddpdoctor", "watch", "--quiet", "--"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS)]
    done = subprocess.run(
        [*watch, *torchrun, __file__, "--rank", *options],
        # The rank loads the probe itself, once it has seen what torch is without.
        env={**os.environ, "OMP_NUM_THREADS": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: list[float] = json.loads(done.stdout)
    return found


def network(*, tiny: bool) -> tuple[Any, Any]:
    """A network and a batch of 64 for it."""
    import torch
    from torch import nn

    if tiny:
        return nn.Sequential(*(nn.Linear(256, 256) for _ in range(4))), torch.randn(64, 256)
    layers = [nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25)]
    layers += [nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10)]
    return nn.Sequential(*layers), torch.randn(64, 1, 28, 28)


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
        self._supervisor = int(os.environ["_DDPDOCTOR_WATCH_PID"])

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
    net, batch = network(tiny="--tiny" in sys.argv)
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    samples = TensorDataset(batch[None])

    def block(steps: int) -> float:
        """Seconds of so many steps."""
        loader = DataLoader(samples, sampler=[0] * steps, batch_size=1)
        dist.barrier()
        start = time.perf_counter()
        for (row,) in loader:
            optimizer.zero_grad()
            model(row[0]).square().mean().backward()
            optimizer.step()
        return time.perf_counter() - start

    block(10)
    pace = torch.tensor([max(1.0, BLOCK / block(10) * 10)])
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
        print(f"{BLOCK / int(pace) * 1e3:.1f} ms a step", file=sys.stderr)
        print(json.dumps(found))
    dist.destroy_process_group()
    time.sleep(0.2)  # torch 2.13, gloo: a thread of its own may still let go of a Python object


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        rank()
    else:
        sys.exit(main())
