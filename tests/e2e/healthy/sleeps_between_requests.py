"""Each rank may ask a service so many times a minute; one has used up its share and sleeps in a loop in mid-epoch."""

import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel


class Service:
    """Hands out batches, until the share is used up; then it must be left alone for a while."""

    def __init__(self, share: int, pause: float) -> None:
        self.share = share
        self.free_again = 0.0
        self.pause = pause

    def batch(self, number: int) -> Tensor:
        if number == self.share:
            self.free_again = time.monotonic() + self.pause
        while time.monotonic() < self.free_again:
            time.sleep(1.0)
        return torch.randn(8, 6, generator=torch.Generator().manual_seed(number))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other steps, shares and seconds")
    args = parser.parse_args()
    source = random.Random(args.seed)
    steps, seconds = source.randint(20, 40), source.uniform(10.0, 16.0)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    service = Service(source.randrange(1, steps) if rank == args.seed % size else -1, seconds)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(6, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(steps):
        loss = model(service.batch(step)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
    dist.barrier()
    print(f"rank {rank}: {steps} steps", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
