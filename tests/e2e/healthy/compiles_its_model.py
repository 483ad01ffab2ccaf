"""Rank 0 compiles its model with torch.compile before the first step; the others use theirs as it is, and wait."""

import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import nn


def network(layers: int) -> nn.Module:
    return nn.Sequential(*(nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.LayerNorm(16)) for _ in range(layers)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other layers and shapes")
    args = parser.parse_args()
    source = random.Random(args.seed)
    layers, lengths = source.randint(2, 6), source.sample(range(3, 40), 3)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = network(layers)
    forward = torch.compile(model, dynamic=False) if rank == 0 else model
    for length in lengths:
        loss = forward(torch.randn(length, 16)).square().mean()
        model.zero_grad()
        loss.backward()
        for weight in model.parameters():
            dist.all_reduce(weight.grad)
            weight.grad /= size
    print(f"rank {rank}: loss {loss.item():.4f}", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
