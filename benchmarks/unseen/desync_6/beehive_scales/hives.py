"""Weights of beehives, a reading every ten minutes, with gaps where the scale had no power."""

import random
import time
from dataclasses import dataclass

import torch
from torch.utils.data import Dataset, DataLoader

READINGS = 24


@dataclass
class Config:
    days: int = 8
    batches: int = 560
    hidden: int = 36
    lr: float = 0.01
    min_readings: int = 40
    report: int = 80


class Apiary(Dataset):
    """Days of the hives of one apiary: weight, which readings are there, gain of the next day."""

    def __init__(self, apiary, config):
        self.apiary, self.config = apiary, config
        self.length = config.days * config.batches
        self.random = random.Random(apiary)

    def __len__(self):
        return self.length

    def powered(self, index, generator):
        present = torch.rand(READINGS, generator=generator) > 0.2
        week = index // self.config.days
        if self.apiary == 2 and week == 128:
            present[3:] = False
        return present

    def __getitem__(self, index):
        time.sleep(0.006 + 0.003 * self.random.random())
        generator = torch.Generator().manual_seed(self.apiary * 10_000_000 + index)
        weight = 30 + torch.randn(READINGS, generator=generator).cumsum(0) / 5
        present = self.powered(index, generator)
        gain = (weight[-1] - weight[0]).view(1) / 4
        return (weight - 30) * present, present, gain


def load(apiary, config):
    return DataLoader(Apiary(apiary, config), config.days)
