"""A background thread gathers statistics on a group of its own while the main thread trains."""

import argparse
import random
import threading
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Statistics(threading.Thread):
    """Gathers this rank's step counter from all ranks, a fixed number of times."""

    def __init__(self, rounds: int, interval: float) -> None:
        super().__init__(name="statistics")
        self.group = dist.new_group()
        self.rounds = rounds
        self.interval = interval
        self.step = 0
        self.seen: list[int] = []

    def run(self) -> None:
        for _ in range(self.rounds):
            time.sleep(self.interval * (1 + dist.get_rank()))
            parts: list[int] = [0] * dist.get_world_size()
            dist.all_gather_object(parts, self.step, group=self.group)
            self.seen.append(max(parts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seed", type=int, help="vary the job")
    args = parser.parse_args()
    if args.seed is not None:
        source = random.Random(args.seed)
        args.steps, args.rounds = source.randint(10, 30), source.randint(1, 3)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    statistics = Statistics(args.rounds, interval=1.0)
    statistics.start()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(16, 4))
    for step in range(args.steps):
        time.sleep(0.05)
        model(torch.randn(8, 16)).square().mean().backward()
        statistics.step = step
    dist.barrier()
    statistics.join()
    dist.barrier()
    print(f"rank {rank}: {len(statistics.seen)} rounds", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
