"""A rank that cannot decode a batch trains on its last good one instead, and so keeps step with the others."""

import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel


class Reader:
    """Batches of one rank, some of which are damaged."""

    def __init__(self, rank: int, damaged: set[int], seconds: float) -> None:
        self.rank = rank
        self.damaged = damaged
        self.seconds = seconds

    def read(self, step: int) -> Tensor:
        if step in self.damaged:
            time.sleep(self.seconds)  # it is tried again before it is given up
            raise ValueError(f"batch {step} is damaged")
        return torch.randn(8, 6, generator=torch.Generator().manual_seed(step * 8 + self.rank))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other steps, damages and seconds")
    args = parser.parse_args()
    source = random.Random(args.seed)
    steps, seconds = source.randint(8, 24), source.uniform(2.0, 4.5)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    bad = {source.randrange(1, steps)} if rank == args.seed % size else set()
    reader = Reader(rank, bad, seconds)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(6, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch = torch.zeros(8, 6)
    for step in range(steps):
        try:
            batch = reader.read(step)
        except ValueError as error:
            print(f"rank {rank}: {error}", flush=True)
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
