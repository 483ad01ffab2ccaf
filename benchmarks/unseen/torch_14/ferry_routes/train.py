"""Delays of ferries, learnt by cyclic weight transfer: the harbours keep their data, the models travel."""
import argparse
import logging
import time
from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from torch import nn

from ring import Ring

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("ferries")


@dataclass
class Harbour:
    number: int
    crossings: int = 256
    features: int = 10
    tide: torch.Tensor = field(init=False)
    delay: torch.Tensor = field(init=False)

    def __post_init__(self):
        generator = torch.Generator().manual_seed(40 + self.number)
        self.tide = torch.randn(self.crossings, self.features, generator=generator)
        weights = torch.linspace(-1.0, 1.0, self.features) + 0.1 * self.number
        self.delay = self.tide @ weights + 0.2 * torch.randn(self.crossings, generator=generator)

    def batches(self, size, generator):
        for index in torch.randperm(self.crossings, generator=generator).split(size):
            yield self.tide[index], self.delay[index]


class Site:
    """A process with the harbours whose crossings it may see."""

    def __init__(self, harbours, rank, world, args):
        self.harbours = [Harbour(number) for number in harbours[rank::world]]
        self.args = args
        torch.manual_seed(5)
        self.model = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr)
        self.generator = torch.Generator().manual_seed(rank)

    def visit(self):
        """What the model that is here learns from the harbours of this site."""
        total, count = 0.0, 0
        for harbour in self.harbours:
            for tide, delay in harbour.batches(self.args.batch, self.generator):
                loss = nn.functional.mse_loss(self.model(tide).squeeze(1), delay)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item()
                count += 1
                time.sleep(0.01)
        return total / count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--harbours", type=int, default=4)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--report-every", type=int, default=6)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    harbours = list(range(args.harbours))
    site = Site(harbours, rank, world, args)
    ring = Ring(harbours)
    for number in range(args.rounds):
        loss = site.visit()
        ring.rotate(site.model)
        if (number + 1) % args.report_every == 0:
            mean = torch.tensor(loss)
            dist.all_reduce(mean, op=dist.ReduceOp.SUM)
            if rank == 0:
                log.info("round %d: %.4f", number, mean.item() / world)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
