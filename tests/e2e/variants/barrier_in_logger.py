"""A run log whose lines are written by one rank, after all ranks have had a chance to flush theirs."""

import io
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Flushing:
    """Mixin: everything that was printed before reaches the terminal before what comes now."""

    def settle(self) -> None:
        dist.barrier()


class RunLog(Flushing):
    def __init__(self) -> None:
        self.stream = io.StringIO()

    def line(self, text: str) -> None:
        self.settle()
        self.stream.write(text + "\n")


class Progress:
    """Reports every few steps through a log."""

    def __init__(self, log: RunLog, every: int) -> None:
        self.log = log
        self.every = every

    def __call__(self, step: int, loss: float) -> None:
        if step % self.every == self.every - 1:
            self.log.line(f"step {step}: {loss:.4f}")


def main() -> None:
    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(8, 8))
    progress = Progress(RunLog(), every=7)
    for step in range(30):
        loss = model(torch.randn(4, 8)).square().mean()
        loss.backward()
        if rank == world_size - 1:
            progress(step, loss.item())
    dist.destroy_process_group()
    time.sleep(0.2)


if __name__ == "__main__":
    main()
