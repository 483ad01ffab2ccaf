"""A training in which one rank keeps the others waiting: straggling.py KIND DELAY STEPS. Each rank prints what it did.

Each rank sleeps for PAUSE in each step, so that a step takes as long with a delay as without it, but for the delay.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

KIND, DELAY, STEPS = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
PAUSE = 0.03


class Samples(Dataset):  # type: ignore[type-arg,misc,unused-ignore]
    def __init__(self, rank: int) -> None:
        self.rank = rank

    def __len__(self) -> int:
        return STEPS

    def __getitem__(self, index: int) -> torch.Tensor:
        if KIND == "data" and self.rank == 2:
            time.sleep(DELAY)
        return torch.ones(8)


class Slowly(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    """The same tensor; its gradient takes a while."""

    @staticmethod
    def forward(ctx: Any, value: torch.Tensor) -> torch.Tensor:
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        time.sleep(DELAY)
        return gradient


class Net(nn.Module):  # type: ignore[misc,unused-ignore]
    def __init__(self, rank: int) -> None:
        super().__init__()
        self.rank = rank
        self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 1)

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        hidden = self.body(value)
        if KIND == "backward" and self.rank == 3:
            hidden = Slowly.apply(hidden)  # type: ignore[no-untyped-call,unused-ignore]
        return self.head(hidden)


def prepare(batch: torch.Tensor, rank: int, step: int) -> torch.Tensor:
    time.sleep(PAUSE)
    if (KIND == "host" and rank == 1) or (KIND == "alternating" and rank == step % 2):
        time.sleep(DELAY)
    return batch * 2


def exchange(rank: int) -> None:
    """Rank 0 sends its border to rank 1."""
    border = torch.ones(4)
    if rank == 0:
        time.sleep(DELAY)
        dist.send(border, 1)
    elif rank == 1:
        dist.recv(border, 0)


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(Net(rank))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    began = time.monotonic()
    for step, batch in enumerate(DataLoader(Samples(rank), batch_size=1)):
        loss = model(prepare(batch, rank, step)).sum()
        if KIND == "send":
            exchange(rank)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if rank == 0:
        print(f"seconds {time.monotonic() - began:.3f}", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
