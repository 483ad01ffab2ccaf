"""Tracks of foxes in snow; each process has the collars of one region."""

import random
import time

import torch

STEPS = 15


class Region:
    """Draws batches of tracks; in the second winter one region has many more collars."""

    def __init__(self, number):
        self.number, self.winter = number, 1
        self.random = random.Random(number)
        self.generator = torch.Generator().manual_seed(number)

    def begin_winter(self, winter):
        self.winter = winter

    @property
    def collars(self):
        return 230 if self.number == 2 and self.winter > 1 else 20

    def batch(self, size=10):
        time.sleep(0.05 + 0.015 * self.random.random())
        tracks = torch.randn(size, STEPS, generator=self.generator).cumsum(1) / STEPS**0.5
        return tracks[:, :-1], tracks[:, -1:]


def network(width=20):
    torch.manual_seed(4)
    return torch.nn.Sequential(
        torch.nn.Linear(STEPS - 1, width),
        torch.nn.Tanh(),
        torch.nn.Linear(width, 1),
    )
