"""Trim of a ferry from its load plan; eight ferries of the same class, a process for each."""

import argparse
import logging
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from voyages import LANES, ROWS, heel, mirrored, plans_loader

logger = logging.getLogger("ferry")


class TrimNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(ROWS * LANES, width), nn.SiLU())
        self.head = nn.Linear(width, 1)

    def forward(self, plans):
        return self.head(self.body(plans - 1.75)).squeeze(-1)


class Trainer:
    """One optimizer step for each batch, over all views of it."""

    def __init__(self, model, loader, lr, heel_limit):
        self.model, self.loader, self.heel_limit = model, loader, heel_limit
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.loss = nn.SmoothL1Loss()
        self.steps = 0

    def views(self, plans):
        """A load that lies to one side also teaches from the other side."""
        yield plans
        if heel(plans).abs().mean() > self.heel_limit:
            yield mirrored(plans)

    def step(self, plans, trim):
        self.optimizer.zero_grad()
        total = 0.0
        for view in self.views(plans):
            loss = self.loss(self.model(view), trim)
            loss.backward()
            total += loss.item()
        self.optimizer.step()
        self.steps += 1
        return total

    def run(self):
        average = None
        for plans, trim in self.loader:
            loss = self.step(plans, trim)
            average = loss if average is None else 0.97 * average + 0.03 * loss
            if self.steps % 50 == 0:
                logger.info("step %d: %.4f", self.steps, average)
        return average


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--voyages", type=int, default=1880)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--heel-limit", type=float, default=1.0)
    args = parser.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = int(os.environ["RANK"])
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING)
    torch.manual_seed(8)
    model = DistributedDataParallel(TrimNet(args.width))
    loader = plans_loader(rank, args.voyages, args.batch_size)
    trainer = Trainer(model, loader, args.lr, args.heel_limit)
    average = trainer.run()
    dist.barrier()
    logger.info("moored with a loss of %.4f", average)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
