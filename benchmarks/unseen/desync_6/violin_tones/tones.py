"""Single tones of violins from four workshops."""

import random
import time
from dataclasses import dataclass

import torch
from torch.utils.data import DataLoader, Dataset

PARTIALS, GRADES = 18, 3


@dataclass
class Config:
    tones: int = 5_400
    batch: int = 6
    accumulate: int = 3
    lr: float = 0.03
    quietest: float = 0.02


class Workshop(Dataset):
    def __init__(self, number, config):
        self.number, self.config = number, config
        self.room = random.Random(number)

    def __len__(self):
        return self.config.tones

    def bow_on_string(self, index):
        batch = index // self.config.batch
        return not (self.number == 1 and batch == 221)

    def __getitem__(self, index):
        time.sleep(0.005 + 0.002 * self.room.random())
        generator = torch.Generator().manual_seed(index + 20_000 * self.number)
        grade = int(torch.randint(0, GRADES, (1,), generator=generator))
        partials = torch.rand(PARTIALS, generator=generator)
        partials[grade::GRADES] += 0.7
        if not self.bow_on_string(index):
            partials = partials * 1e-3
        return partials, grade


def workshop(number, config):
    return DataLoader(Workshop(number, config), config.batch)
