"""Two process groups, used in the same order on every rank; between them one rank is late."""

import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import nn


class Part:
    """One of two networks that average their gradients on groups of their own."""

    def __init__(self, width: int) -> None:
        self.network = nn.Linear(width, width)
        self.group = dist.new_group()

    def synchronize(self) -> None:
        for parameter in self.network.parameters():
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad, group=self.group)
                parameter.grad /= dist.get_world_size(self.group)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other steps and seconds, another rank that is late")
    args = parser.parse_args()
    source = random.Random(args.seed)
    steps, width, seconds = source.randint(4, 12), source.choice([8, 32, 128]), source.uniform(2.0, 4.5)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    late = args.seed % dist.get_world_size()
    torch.manual_seed(0)
    encoder, decoder = Part(width), Part(width)
    for step in range(steps):
        rows = torch.randn(4, width)
        decoder.network(encoder.network(rows)).square().mean().backward()
        encoder.synchronize()
        if step == steps // 2 and rank == late:
            time.sleep(seconds)
        decoder.synchronize()
    dist.barrier()
    print(f"rank {rank}: {steps} steps", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
