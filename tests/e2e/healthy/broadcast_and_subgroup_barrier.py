"""Rank 1 waits for rank 0's broadcast and rank 2 for rank 1, while rank 0 works for nine seconds."""

import argparse
import random
import time

import torch
import torch.distributed as dist


def best_threshold(seconds: float) -> float:
    """A search that takes its time and reports to nobody."""
    until = time.monotonic() + seconds
    best, candidate = 0.0, 0
    while time.monotonic() < until:
        candidate = (candidate * 1103515245 + 12345) % 2**31
        best = max(best, (candidate % 1000) / 1000)
        time.sleep(0.0005)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=9.0)
    parser.add_argument("--seed", type=int, help="vary the job")
    args = parser.parse_args()
    if args.seed is not None:
        args.seconds = random.Random(args.seed).uniform(3.0, 5.0)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    readers = dist.new_group([1, 2])
    threshold = torch.zeros(1)
    if rank == 0:
        threshold.fill_(best_threshold(args.seconds))
        dist.broadcast(threshold, src=0)
    elif rank == 1:
        dist.broadcast(threshold, src=0)
        dist.barrier(group=readers)
    else:
        dist.barrier(group=readers)
        dist.broadcast(threshold, src=0)
    dist.barrier()
    print(f"rank {rank}: threshold {threshold.item():.3f}", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
