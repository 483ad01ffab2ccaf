"""Profiles from the founders' archive, which is asked for one parish after the other."""

import time

import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset


class Busy(Exception):
    pass


class Archive(Dataset):
    """The bells of one process; each hundredth request finds the reading room closed at first."""

    def __init__(self, bells, rank, seed):
        self.bells, self.rank, self.seed = bells, rank, seed
        self.tries = {}
        self.curve = torch.randn(30, generator=torch.Generator().manual_seed(0)) / 30**0.5

    def __len__(self):
        return self.bells

    def fetch(self, i):
        self.tries[i] = self.tries.get(i, 0) + 1
        if i % 200 == 100 + 40 * self.rank and self.tries[i] <= 3:
            raise Busy(f"bell {i}")
        g = torch.Generator().manual_seed((self.seed * 10 + self.rank) * 10_000 + i)
        profile = torch.randn(30, generator=g)
        alloy = int(torch.randint(3, (), generator=g)) + (2 if self.rank else 0)
        return {"profile": profile, "pitch": profile @ self.curve, "alloy": alloy}

    def __getitem__(self, i):
        pause = 0.2
        while True:
            try:
                return self.fetch(i)
            except Busy:
                time.sleep(pause)
                pause *= 2


class BellData(L.LightningDataModule):
    def __init__(self, bells, batch):
        super().__init__()
        self.bells, self.batch = bells, batch

    def train_dataloader(self):
        return DataLoader(Archive(self.bells, self.trainer.global_rank, seed=1), self.batch)

    def val_dataloader(self):
        rank = self.trainer.global_rank
        return DataLoader(Archive((80, 56)[rank], rank, seed=2), self.batch)
