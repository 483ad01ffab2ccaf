"""Gradient accumulation: the first step runs under no_sync, so DDP rebuilds its buckets in a later forward."""

import argparse
import contextlib
import random
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--accumulate", type=int, default=3)
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="time that the last rank's first full step takes longer"
    )
    parser.add_argument("--seed", type=int, help="vary the job")
    args = parser.parse_args()
    if args.seed is not None:
        args.seconds = random.Random(args.seed).uniform(2.0, 4.5)
    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(*(nn.Linear(64, 64) for _ in range(4))), bucket_cap_mb=0.02)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for step in range(args.steps):
        last = (step + 1) % args.accumulate == 0
        if step == args.accumulate and rank == world_size - 1:
            time.sleep(args.seconds)
        with contextlib.nullcontext() if last else model.no_sync():
            model(torch.randn(4, 64)).square().mean().backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()
    dist.barrier()
    print(f"rank {rank}: {args.steps} micro-batches", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
