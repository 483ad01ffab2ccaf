"""Firings of glazed tiles: recipe, curve of the kiln, and the colour that came out."""

import random
import time

import torch

OXIDES, HOURS = 9, 12


class Firings:
    """The firings of one pottery, batch by batch; no two are read twice."""

    def __init__(self, pottery, batch):
        self.pottery, self.batch = pottery, batch
        self.generator = torch.Generator().manual_seed(4000 + pottery)
        self.read_time = random.Random(pottery)
        self.number = 0

    def overfired(self):
        return self.pottery == 1 and self.number == 125

    def __iter__(self):
        return self

    def __next__(self):
        time.sleep(0.05 + 0.02 * self.read_time.random())
        recipe = torch.rand(self.batch, OXIDES, generator=self.generator)
        curve = torch.rand(self.batch, HOURS, generator=self.generator)
        colour = torch.stack([recipe[:, 0] - recipe[:, 1], recipe[:, 2] * curve[:, 3], curve[:, -1]], dim=1)
        if self.overfired():
            colour = colour + 25.0
        self.number += 1
        return torch.cat([recipe, curve], dim=1), colour


class Running:
    """Running mean of a loss."""

    def __init__(self, keep=0.95):
        self.keep, self.mean, self.seen = keep, 0.0, 0

    def add(self, value):
        self.seen += 1
        self.mean += (value - self.mean) * max(1 - self.keep, 1 / self.seen)
