"""Two groups, used with async_op=True in an order that differs between the ranks, and eight seconds of work."""

import argparse
import random
import time

import torch
import torch.distributed as dist


def busy(seconds: float) -> float:
    """Work on the host for a while, as a schedule that hides communication does."""
    until = time.monotonic() + seconds
    value = torch.eye(32)
    while time.monotonic() < until:
        value = torch.tanh(value @ value) + 0.01
        time.sleep(0.001)
    return float(value.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--seed", type=int, help="vary the job")
    args = parser.parse_args()
    if args.seed is not None:
        args.seconds = random.Random(args.seed).uniform(2.0, 4.5)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    weights, statistics = dist.new_group(), dist.new_group()
    gradients, moments = torch.ones(1000) * rank, torch.ones(10) * rank
    if rank % 2 == 0:
        first = dist.all_reduce(gradients, group=weights, async_op=True)
        second = dist.all_reduce(moments, group=statistics, async_op=True)
    else:
        second = dist.all_reduce(moments, group=statistics, async_op=True)
        first = dist.all_reduce(gradients, group=weights, async_op=True)
    busy(args.seconds if rank else args.seconds + 1.0)
    first.wait()
    second.wait()
    total = sum(range(dist.get_world_size()))
    if gradients[0].item() != total or moments[0].item() != total:
        raise ValueError("wrong sums")
    dist.barrier()
    print(f"rank {rank}: sums are right", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
