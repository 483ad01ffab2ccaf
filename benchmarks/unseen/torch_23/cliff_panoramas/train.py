"""Counts of nests on pictures of sea cliffs. A run has a fixed number of steps, whatever the size of the coasts."""
import argparse
import logging
import multiprocessing
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from pictures import Budget, Cliffs, quiet_worker

logger = logging.getLogger("nests")


class NestCounter(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, channels, 3, stride=2), nn.ReLU(), nn.Conv2d(channels, channels, 3), nn.ReLU(), nn.Flatten()
        )
        self.count = nn.Linear(channels, 1)

    def forward(self, pictures):
        return self.count(self.features(pictures))[:, 0]


class Run:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        self.budget = Budget(multiprocessing.get_context("fork"), places=args.places)
        self.loader = DataLoader(
            Cliffs(self.rank, args.pictures, self.budget),
            batch_size=args.batch,
            shuffle=True,
            num_workers=1,
            prefetch_factor=4,
            worker_init_fn=quiet_worker,
            multiprocessing_context="fork",
            generator=torch.Generator().manual_seed(self.rank),
        )
        torch.manual_seed(0)
        self.model = DDP(NestCounter())
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9)
        self.losses = []

    def step(self, pictures, nests):
        loss = nn.functional.smooth_l1_loss(self.model(pictures), nests)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss.item())
        time.sleep(self.args.pause)

    def train(self):
        for number, (pictures, nests, wide) in enumerate(self.loader):
            self.step(pictures, nests)
            if number % 20 == 0 and self.rank == 0:
                logger.info("step %d loss %.3f", number, self.losses[-1])
            if (number + 1) % self.args.snapshot_every == 0:
                self.snapshot()
            if number + 1 == self.args.steps:
                break
            self.budget.give_back(int(wide.sum()))

    def snapshot(self):
        """Every process keeps a copy of its own, which takes a moment on the share."""
        with tempfile.NamedTemporaryFile(suffix=".pt") as file:
            torch.save(self.model.module.state_dict(), file.name)
            time.sleep(self.args.share_delay)

    def report(self):
        mean = torch.tensor(sum(self.losses[-20:]) / 20)
        dist.all_reduce(mean)
        if self.rank == 0:
            logger.info("mean loss of the last steps: %.3f", mean.item() / dist.get_world_size())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--pictures", type=int, default=800)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--places", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--snapshot-every", type=int, default=40)
    parser.add_argument("--share-delay", type=float, default=0.6)
    parser.add_argument("--pause", type=float, default=0.05)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    run = Run(args)
    run.train()
    run.report()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
