"""Gusts in the canyon: training that can be taken up again in the middle of an epoch."""

import argparse
import logging
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from budget import TimeBudget
from soundings import MASTS, stateful_loader

log = logging.getLogger(__name__)


class GustTrainer:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        self.world = dist.get_world_size()
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(MASTS, 32), nn.ReLU(), nn.Linear(32, 1))
        self.model = DistributedDataParallel(net)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9)
        self.sampler, self.loader = stateful_loader(args.soundings, args.batch, self.rank, self.world)
        self.epoch = 0

    def step(self, pressures, gusts):
        loss = nn.functional.mse_loss(self.model(pressures).squeeze(-1), gusts)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        time.sleep(self.args.pause)
        return loss.item()

    def save(self):
        """The weights once, and the place of each process in its data."""
        place = {"epoch": self.epoch, "loader": self.loader.state_dict()}
        places = [None] * self.world if self.rank == 0 else None
        dist.gather_object(place, places, dst=0)
        if self.rank == 0:
            state = {"model": self.model.module.state_dict(), "places": places}
            torch.save(state, Path(self.args.folder) / "winds.pt")

    def fit(self, budget):
        while self.epoch < self.args.epochs:
            self.sampler.set_epoch(self.epoch)
            for pressures, gusts in self.loader:
                loss = self.step(pressures, gusts)
                if budget.spent:
                    return self.save()
            if self.rank == 0:
                log.info("epoch %d: loss %.4f", self.epoch, loss)
            self.epoch += 1
        self.save()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--soundings", type=int, default=9000)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--pause", type=float, default=0.04)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--folder", default=tempfile.gettempdir())
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    with TimeBudget(dist.get_rank(), args.seconds) as budget:
        GustTrainer(args).fit(budget)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
