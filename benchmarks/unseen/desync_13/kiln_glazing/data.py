"""Firings of three kilns: curves of temperature, and the gloss that came out."""

import random
import time

import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset

POINTS = 32


class Firings(Dataset):
    def __init__(self, kiln, count):
        self.kiln, self.count = kiln, count
        self.rng = random.Random(17 + kiln)
        generator = torch.Generator().manual_seed(1)
        self.effect = torch.randn(POINTS, generator=generator) / POINTS**0.5

    def __len__(self):
        return self.count

    def over_fired(self, index):
        """The door of kiln 1 was shut too early on one day in autumn."""
        return self.kiln == 1 and 960 <= index < 966

    def __getitem__(self, index):
        time.sleep(0.007 + 0.005 * self.rng.random())
        generator = torch.Generator().manual_seed(10_000 * self.kiln + index)
        curve = torch.randn(POINTS, generator=generator)
        gloss = curve @ self.effect + 0.1 * torch.randn((), generator=generator)
        if self.over_fired(index):
            gloss = gloss - 25
        return curve, gloss


class KilnData(L.LightningDataModule):
    """Every process has the firings of one kiln."""

    def __init__(self, firings, batch_size):
        super().__init__()
        self.firings, self.batch_size = firings, batch_size

    def setup(self, stage):
        self.dataset = Firings(self.trainer.global_rank, self.firings)

    def train_dataloader(self):
        return DataLoader(self.dataset, self.batch_size, drop_last=True)
