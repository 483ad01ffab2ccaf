"""Centuries of tapestries from scans (DDP); a process for each museum, two data workers for each process."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from memory import MemoryBudget
from scans import CENTURIES, TILE, Collection

log = logging.getLogger("tapestries")


class Average:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def add(self, value):
        self.total += value
        self.count += 1

    def over_processes(self):
        both = torch.tensor([self.total, self.count])
        dist.all_reduce(both)
        return (both[0] / both[1]).item()


def make_loader(args):
    budget = MemoryBudget(args.memory)
    collection = Collection(dist.get_rank(), args.scans, budget)
    log.debug("%s, scans of up to %d units", budget, collection.largest())
    return DataLoader(collection, batch_size=args.batch, num_workers=2, drop_last=True)


def train(model, optimizer, loader, epochs):
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        average = Average()
        for features, century in loader:
            loss = criterion(model(features), century)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            average.add(loss.item())
            time.sleep(0.03)
        loss = average.over_processes()
        if dist.get_rank() == 0:
            log.info("epoch %d loss %.4f", epoch, loss)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--scans", type=int, default=800)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--memory", type=int, default=6, help="units for the workers of a process")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(6)
    model = DDP(nn.Sequential(nn.Linear(2 * TILE * TILE, 48), nn.ReLU(), nn.Linear(48, CENTURIES)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    train(model, optimizer, make_loader(args), args.epochs)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
