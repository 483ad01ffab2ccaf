"""Almonds on the belts of three plants, as measured by a camera."""

import random
import time

import lightning as L
import torch
from torch.utils.data import DataLoader, IterableDataset

MEASURES = 14
SIZES = 5


class Belt(IterableDataset):
    """The almonds of one plant, load by load. A belt stops when the load has been weighed out."""

    def __init__(self, plant, load_kilos, batch):
        self.plant, self.load_kilos, self.batch = plant, load_kilos, batch
        self.loads = 0
        self.pace = random.Random(plant)

    def grams(self, load):
        """Mean weight of an almond of a load; irrigated trees have heavier ones."""
        return 1.1 if self.plant == 2 and load == 1 else 1.0

    def __iter__(self):
        load, self.loads = self.loads, self.loads + 1
        generator = torch.Generator().manual_seed(self.plant * 100 + load)
        weighed = 0.0
        while weighed < self.load_kilos:
            time.sleep(0.006 + 0.003 * self.pace.random())
            size = int(torch.randint(0, SIZES, (1,), generator=generator))
            measures = torch.randn(MEASURES, generator=generator) + 0.4 * size
            weighed += self.grams(load) / 1000
            yield measures, size


class Plants(L.LightningDataModule):
    def __init__(self, load_kilos=0.8, batch=8):
        super().__init__()
        self.load_kilos, self.batch = load_kilos, batch

    def setup(self, stage):
        self.belt = Belt(self.trainer.global_rank, self.load_kilos, self.batch)

    def train_dataloader(self):
        return DataLoader(self.belt, batch_size=self.batch, drop_last=True)
