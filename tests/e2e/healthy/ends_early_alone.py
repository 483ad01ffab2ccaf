"""A rank that is no longer needed exits; the others continue in their own group."""

import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import nn


def scores(rank: int, rounds: int, seconds: float, group: dist.ProcessGroup) -> float:
    """Rounds of a vote among those who stay; the first of them needs longest."""
    torch.manual_seed(rank)
    network = nn.Linear(8, 1)
    total = 0.0
    for _ in range(rounds):
        if rank == 0:
            time.sleep(seconds / rounds)
        vote = network(torch.randn(4, 8)).mean().detach()
        dist.all_reduce(vote, group=group)
        total += float(vote)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other rounds and seconds, another rank that leaves")
    args = parser.parse_args()
    source = random.Random(args.seed)
    rounds, seconds = source.randint(1, 6), source.uniform(2.0, 4.5)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    leaver = 1 + args.seed % (size - 1)
    staying = dist.new_group([number for number in range(size) if number != leaver])
    ready = torch.ones(1)
    dist.all_reduce(ready)
    if rank == leaver:
        print(f"rank {rank}: {int(ready)} were ready, goes home", flush=True)
    else:
        total = scores(rank, rounds, seconds, staying)
        print(f"rank {rank}: {total:.3f}", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
