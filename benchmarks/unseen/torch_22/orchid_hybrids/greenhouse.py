"""Measurements of orchids from greenhouses; some drawers of the older ones are on a disk that must spin up."""
import time

import torch
from torch.utils.data import Dataset

PARENTS = 5


class ShelfAsleep(OSError):
    pass


class Greenhouse(Dataset):
    def __init__(self, number, flowers):
        self.number = number
        self.flowers = flowers
        self.parents = torch.randn(PARENTS, 16, generator=torch.Generator().manual_seed(77))
        self.attempts = {}

    def __len__(self):
        return self.flowers

    def read(self, index):
        """A drawer may need several attempts until its disk turns."""
        if index % 400 == 210 and self.number == 1:
            self.attempts[index] = self.attempts.get(index, 0) + 1
            if self.attempts[index] < 4:
                raise ShelfAsleep(f"drawer of flower {index}")
        g = torch.Generator().manual_seed(10_000 * self.number + index)
        mother, father = index % PARENTS, (index * 3 + 1) % PARENTS
        flower = 0.6 * self.parents[mother] + 0.4 * self.parents[father] + 0.3 * torch.randn(16, generator=g)
        if self.number == 2 and index % 150 == 77:
            flower[0] = float("nan")
        return flower, mother

    def __getitem__(self, index):
        pause = 0.4
        while True:
            try:
                return self.read(index)
            except ShelfAsleep:
                time.sleep(pause)
                pause *= 2
