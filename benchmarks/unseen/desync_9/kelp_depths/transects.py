"""Sonar echoes along transects of a kelp forest, one boat for each process."""

import random
import time
from dataclasses import dataclass

import torch
from torch.utils.data import IterableDataset

BINS = 24


@dataclass
class Transect:
    echoes: torch.Tensor
    depth: torch.Tensor
    clutter: float


class Boat(IterableDataset):
    """Transects of one boat, in the order in which they were sailed."""

    def __init__(self, number, transects, length=10):
        self.number, self.transects, self.length = number, transects, length
        self.random = random.Random(7 + number)

    def clutter(self, index):
        storm = self.number == 2 and 128 <= index < 131
        return 0.9 if storm else 0.2 + 0.2 * self.random.random()

    def record(self, index):
        generator = torch.Generator().manual_seed(50_000 * self.number + index)
        clutter = self.clutter(index)
        depth = torch.rand(self.length, generator=generator)
        bins = torch.linspace(0, 1, BINS)
        echoes = torch.exp(-40 * (bins - depth.unsqueeze(1)).square())
        noise = torch.randn(self.length, BINS, generator=generator)
        return Transect(echoes + clutter * noise, depth, clutter)

    def __iter__(self):
        for index in range(self.transects):
            time.sleep(0.045 + 0.02 * self.random.random())
            yield self.record(index)
