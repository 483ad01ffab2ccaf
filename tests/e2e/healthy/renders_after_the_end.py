"""When the process group is gone, one rank draws its curves for many seconds; the other processes have ended."""

import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WIDTH = 60


def render(losses: list[float], pages: int, seconds: float) -> list[str]:
    """A page of bars for every part of the curve, drawn slowly."""
    drawn, top = [], max(losses)
    for page in range(pages):
        for row in range(20):
            loss = losses[(page * 20 + row) % len(losses)]
            drawn.append("#" * round(WIDTH * loss / top))
            time.sleep(seconds / pages / 20)
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="another rank, other steps, pages and seconds")
    args = parser.parse_args()
    source = random.Random(args.seed)
    steps, pages, seconds = source.randint(10, 40), source.randint(2, 6), source.uniform(10.0, 16.0)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(6, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        loss = model(torch.randn(8, 6)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    dist.barrier()
    dist.destroy_process_group()
    if rank == args.seed % size:
        print(f"{len(render(losses, pages, seconds))} rows on {pages} pages", flush=True)
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
