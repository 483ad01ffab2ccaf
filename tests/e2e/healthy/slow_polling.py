"""Rank 1 asks every half second whether its export is done, for half a minute; the others wait for it in a barrier."""

import argparse
import random
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist


@dataclass
class Export:
    """A conversion that a service makes; it says how far it has come."""

    started: float
    seconds: float

    def progress(self) -> float:
        return min(1.0, (time.monotonic() - self.started) / self.seconds)


def wait_for(export: Export) -> int:
    asked = 0
    while export.progress() < 1.0:
        time.sleep(0.5)
        asked += 1
    return asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=28.0)
    parser.add_argument("--seed", type=int, help="vary the job")
    args = parser.parse_args()
    if args.seed is not None:
        args.seconds = random.Random(args.seed).uniform(8.0, 11.0)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    asked = wait_for(Export(time.monotonic(), args.seconds)) if rank == 1 else 0
    dist.barrier()
    total = torch.tensor([asked])
    dist.all_reduce(total)
    print(f"rank {rank}: {'asked' if total.item() else 'not asked'}", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
