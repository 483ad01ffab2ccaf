"""Tokens are routed to experts on other ranks: the parts of the all-to-all differ in size, and some are empty."""

import argparse
import random
import time

import torch
import torch.distributed as dist


def route(step: int, rank: int, world_size: int) -> list[int]:
    """How many tokens this rank sends to each rank in this step."""
    return [(3 * rank + 5 * target + step) % 7 for target in range(world_size)]


def exchange(step: int, rank: int, world_size: int, width: int) -> torch.Tensor:
    sent = route(step, rank, world_size)
    received = [route(step, source, world_size)[rank] for source in range(world_size)]
    tokens = torch.arange(sum(sent) * width, dtype=torch.float32).view(-1, width) + rank
    arrived = torch.empty(sum(received), width)
    dist.all_to_all_single(arrived, tokens, received, sent)
    return arrived


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument(
        "--pause", type=float, default=6.0, help="seconds that rank 0 needs for its experts in the middle"
    )
    parser.add_argument("--seed", type=int, help="vary the job")
    args = parser.parse_args()
    if args.seed is not None:
        args.pause = random.Random(args.seed).uniform(2.0, 4.5)
    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    count = 0
    for step in range(args.steps):
        if step == args.steps // 2 and rank == 0:
            time.sleep(args.pause)
        count += len(exchange(step, rank, world_size, args.width))
    dist.barrier()
    print(f"rank {rank}: {count} tokens", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
