"""Boats that pass the locks of a canal; each process has some of the locks."""

import random
import time

import torch

FEATURES = 11


class Lock:
    """Passages of one lock by the hour; how many boats come depends on the hour and on luck."""

    def __init__(self, number):
        self.number = number
        self.random = random.Random(60 + number)
        self.generator = torch.Generator().manual_seed(number)

    def boats(self, hour):
        busy = 12 if hour % 24 in range(9, 18) else 4
        return self.random.randint(2, busy + 4 * self.number)

    def hour(self, hour):
        boats = self.boats(hour)
        features = torch.randn(boats, FEATURES, generator=self.generator)
        minutes = 12 + 3 * features[:, :4].sum(1, keepdim=True)
        return features, minutes / 12


def groups(features, minutes, size):
    """What goes into the lock at one time."""
    parts = list(zip(features.split(size), minutes.split(size)))
    for part in parts:
        time.sleep(0.012 + 0.006 * random.random())
        yield part, part is parts[-1]
