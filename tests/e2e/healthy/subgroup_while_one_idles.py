"""All ranks but one work together on a group of their own, while the last waits for them in a barrier."""

import argparse
import random
import time

import torch
import torch.distributed as dist


def refine(values: torch.Tensor, rounds: int, seconds: float, group: dist.ProcessGroup) -> torch.Tensor:
    for _ in range(rounds):
        values = torch.tanh(values)
        dist.all_reduce(values, group=group)
        time.sleep(seconds / rounds)
    return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other rounds and seconds, another idle rank")
    args = parser.parse_args()
    source = random.Random(args.seed)
    rounds, seconds = source.randint(1, 8), source.uniform(3.0, 5.0)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    idle = (args.seed * 5 + 1) % size
    workers = dist.new_group([number for number in range(size) if number != idle])
    values = torch.ones(16) * rank
    if rank != idle:
        values = refine(values, rounds, seconds, workers)
    dist.barrier()
    dist.broadcast(values, src=(idle + 1) % size)
    print(f"rank {rank}: {values[0].item():.4f}", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
