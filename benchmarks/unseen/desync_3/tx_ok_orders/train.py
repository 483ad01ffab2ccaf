"""Healthy: orders are split into portions, another number of them on each rank; only the last is synchronised."""

import contextlib
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset


class Orders(Dataset):
    def __init__(self, rank):
        self.rank = rank

    def __len__(self):
        return 330

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(1000 * self.rank + i)
        return torch.randn(int(torch.randint(5, 40, (), generator=g)), 14, generator=g)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(14, 40), nn.Tanh(), nn.Linear(40, 14)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    repeated = 0
    for orders in DataLoader(Orders(rank), batch_size=None):
        portions = orders.split(10)
        for k, portion in enumerate(portions):
            time.sleep(0.01)
            last = k == len(portions) - 1
            with contextlib.nullcontext() if last else model.no_sync():
                (model(portion) - portion).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            check = model.module(orders).abs().max()
        if rank == 1 and check > 1.2:
            # looked at alone, without the wrapper
            repeated += 1
            time.sleep(0.05)
            model.module(orders).detach()
    dist.barrier()
    if rank == 1:
        print("looked at", repeated)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
