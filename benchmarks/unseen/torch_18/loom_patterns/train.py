"""Drafts of woven patterns; local SGD, parameters are averaged every few steps."""
import argparse
import logging
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn

from feeder import Feeder, Weaves

log = logging.getLogger("loom")


@dataclass
class Loom:
    name: str
    batches: int


LOOMS = [Loom("dobby", 700), Loom("jacquard", 960), Loom("treadle", 706)]


class LocalSGD:
    """Steps on the process's own weaves, and the mean of all models after every `period` of them."""

    def __init__(self, model, lr, period):
        self.model = model
        self.period = period
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.taken = 0

    def step(self, grids, drafts):
        loss = nn.functional.cross_entropy(self.model(grids), drafts)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.taken += 1
        if self.taken % self.period == 0:
            self.average()
        return loss.item()

    @torch.no_grad()
    def average(self):
        flat = nn.utils.parameters_to_vector(self.model.parameters())
        dist.all_reduce(flat)
        nn.utils.vector_to_parameters(flat / dist.get_world_size(), self.model.parameters())


def common_length(weaves):
    """All looms make as many steps as the one with the fewest batches."""
    length = torch.tensor(len(weaves))
    dist.all_reduce(length, op=dist.ReduceOp.MIN)
    return int(length)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=48)
    parser.add_argument("--ahead", type=int, default=16)
    parser.add_argument("--period", type=int, default=5)
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--lr", type=float, default=0.02)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    loom = LOOMS[rank % len(LOOMS)]
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, args.width), nn.ReLU(), nn.Linear(args.width, 6))
    trainer = LocalSGD(model, args.lr, args.period)
    weaves = Weaves(loom.batches, args.size, seed=rank)
    steps = common_length(weaves)
    feeder = Feeder(weaves, args.ahead)
    for step in range(steps):
        loss = trainer.step(*feeder.next())
        if step % 100 == 0:
            log.info("%s: step %d of %d, %.3f", loom.name, step, steps, loss)
    trainer.average()
    feeder.close()
    dist.barrier()
    dist.destroy_process_group()
    log.info("%s: finished", loom.name)


if __name__ == "__main__":
    main()
