"""Early stopping that all ranks agree on: the decision of any rank reaches all by an all-reduce."""

import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class EarlyStopping:
    """Stop when the error of this rank's own data has not fallen for `patience` epochs."""

    def __init__(self, patience: int) -> None:
        self.best = float("inf")
        self.waited = 0
        self.patience = patience

    def finished(self, error: float) -> bool:
        self.waited = 0 if error < self.best else self.waited + 1
        self.best = min(self.best, error)
        return self.waited >= self.patience


def anyone(flag: bool) -> bool:
    """True on all ranks when it is on one."""
    shared = torch.tensor([int(flag)])
    dist.all_reduce(shared, op=dist.ReduceOp.MAX)
    return bool(shared.item())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other steps, errors and seconds")
    args = parser.parse_args()
    source = random.Random(args.seed)
    steps, pause, patience = source.randint(4, 16), source.uniform(2.0, 4.5), source.randint(1, 3)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    own = random.Random(args.seed * 16 + rank)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(6, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    stopping = EarlyStopping(patience)
    for epoch in range(12):
        for _ in range(steps):
            optimizer.zero_grad()
            model(torch.randn(4, 6)).square().mean().backward()
            optimizer.step()
        if epoch == 1 and rank == dist.get_world_size() - 1:
            time.sleep(pause)  # its validation set is the largest
        if anyone(stopping.finished(own.random())):
            break
    dist.barrier()
    print(f"rank {rank}: stopped after {epoch + 1} epochs", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
