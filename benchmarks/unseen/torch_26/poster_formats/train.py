"""The decade of a poster; every process trains on the collection of one museum."""
import argparse
import logging
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from formats import COLLECTIONS, FormatBatches, Posters

log = logging.getLogger("posters")


class DecadeNet(nn.Module):
    def __init__(self, channels=12):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, channels, 3, padding=1), nn.GELU(),
            nn.Conv2d(channels, channels, 3, padding=1), nn.GELU(),
        )
        self.decade = nn.Linear(channels, 4)

    def forward(self, picture):
        return self.decade(self.features(picture).mean((2, 3)))


class EarlyStopping:
    """The same verdict everywhere, as it is given on losses that were gathered."""

    def __init__(self, patience):
        self.patience = patience
        self.best, self.waited = float("inf"), 0

    def __call__(self, loss):
        table = [None] * dist.get_world_size()
        dist.all_gather_object(table, loss)
        mean = sum(table) / len(table)
        self.waited = 0 if mean < self.best else self.waited + 1
        self.best = min(mean, self.best)
        return self.waited >= self.patience


def run_epoch(model, optimizer, loader):
    total = 0.0
    for picture, decade in loader:
        loss = nn.functional.cross_entropy(model(picture), decade)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        time.sleep(0.08)
    return total / len(loader)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--patience", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"[{rank}/{os.getpid()}] %(message)s")
    museum = list(COLLECTIONS)[rank % len(COLLECTIONS)]
    posters = Posters(museum, seed=rank)
    batches = FormatBatches(posters.formats, args.batch, seed=40)
    loader = DataLoader(posters, batch_sampler=batches)
    torch.manual_seed(1)
    model = DDP(DecadeNet())
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    stop = EarlyStopping(args.patience)
    log.info("%s: %d posters, %d batches", museum, len(posters), len(loader))
    for epoch in range(args.epochs):
        batches.set_epoch(epoch)
        loss = run_epoch(model, optimizer, loader)
        log.info("epoch %d: loss %.4f", epoch, loss)
        if stop(loss):
            break
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
