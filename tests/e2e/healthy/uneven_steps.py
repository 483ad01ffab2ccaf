"""Every step takes a different time on every rank; occasionally one is late by seconds."""

import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other steps and times")
    args = parser.parse_args()
    source = random.Random(args.seed)
    steps, longest = source.randint(10, 40), source.uniform(3.0, 4.5)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    times = random.Random(args.seed * 16 + rank)
    late = {source.randrange(steps): source.randrange(size)}
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(steps):
        time.sleep(longest if late.get(step) == rank else times.uniform(0.0, 0.05))
        loss = model(torch.randn(8, 8)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"rank {rank}: {steps} steps, loss {loss.item():.4f}", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
