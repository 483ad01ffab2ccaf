"""Finds the total on invoices: a box per page."""

import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from augment import RandomWindow
from data import Invoices

log = logging.getLogger("invoices")


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--workers", type=int, default=1)
    return parser.parse_args()


class BoxTrainer:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        torch.manual_seed(1)
        net = nn.Sequential(nn.Linear(24, args.width), nn.SiLU(), nn.Linear(args.width, 4))
        self.model = DistributedDataParallel(net)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.augment = RandomWindow(seed=self.rank)
        data = Invoices()
        sampler = DistributedSampler(data, shuffle=False)
        self.loader = DataLoader(data, args.batch_size, sampler=sampler, num_workers=args.workers)
        self.rejected = 0

    def step(self, pages, boxes):
        pages, boxes = self.augment(pages, boxes)
        loss = nn.functional.l1_loss(self.model(pages), boxes)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        time.sleep(0.02)
        return loss.item()

    def epoch(self):
        losses = []
        for pages, boxes in self.loader:
            try:
                losses.append(self.step(pages, boxes))
            except ValueError as error:
                self.rejected += 1
                log.warning("rank %d: %s", self.rank, error)
        return sum(losses) / len(losses)

    def fit(self):
        for number in range(self.args.epochs):
            mine = self.epoch()
            losses = [None] * dist.get_world_size()
            dist.all_gather_object(losses, mine)
            if self.rank == 0:
                log.info("epoch %d: %s", number, " ".join(f"{loss:.4f}" for loss in losses))


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    BoxTrainer(parse()).fit()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
