"""Air in caves: anemometers at three entrances, and the temperature difference that drives the draught."""

import fcntl
import os
import time

import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset

SENSORS = 22
ENTRANCES = ((0, 660), (1, 540), (2, 612))  # records of each


class Draughts(Dataset):
    """Records of one entrance. The card of a logger is read when a record of its block is first asked for."""

    BLOCK = 180

    def __init__(self, entrance, count, shelf):
        self.entrance = entrance
        self.count = count
        self.shelf = shelf
        self.weights = torch.randn(SENSORS, generator=torch.Generator().manual_seed(0)) / SENSORS**0.5
        self.read = set()

    def __len__(self):
        return self.count

    def card(self, block):
        # one reader for all cards, so whoever has the lock reads
        with open(os.path.join(self.shelf, "reader.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            time.sleep(0.8 if self.entrance != 2 else 1.6)

    def __getitem__(self, index):
        block = index // self.BLOCK
        if block not in self.read:
            self.card(block)
            self.read.add(block)
        g = torch.Generator().manual_seed(self.entrance * 10_000 + index)
        speed = torch.randn(SENSORS, generator=g)
        return speed, speed @ self.weights + 0.2 * torch.randn((), generator=g)


class Cave(L.LightningDataModule):
    """Each process has the records of its entrance; an epoch is as long as the shortest of them allows."""

    def __init__(self, batch, shelf):
        super().__init__()
        self.batch = batch
        self.shelf = shelf

    def setup(self, stage):
        entrance, count = ENTRANCES[self.trainer.global_rank]
        shortest = torch.tensor(count)
        torch.distributed.all_reduce(shortest, op=torch.distributed.ReduceOp.MIN)
        self.records = Draughts(entrance, count, self.shelf)
        self.common = int(shortest)

    def train_dataloader(self):
        rows = range(self.common)
        return DataLoader(torch.utils.data.Subset(self.records, rows), self.batch, num_workers=1)
