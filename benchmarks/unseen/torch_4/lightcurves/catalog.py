"""Synthetic photometric survey, split into nights."""
import math
import random

import torch


class Night:
    def __init__(self, number, exposures=48):
        self.number = number
        self.exposures = exposures

    def seeing(self, index):
        """Seeing in arc seconds; the southern site had one bad spell."""
        base = 0.8 + 0.3 * math.sin(0.37 * index + self.number)
        if self.number == 4 and 20 <= index < 26:
            base += 2.5
        return base

    def read(self):
        rng = random.Random(self.number)
        for index in range(self.exposures):
            period = rng.uniform(4.0, 9.0)
            t = torch.linspace(0, 20, 32)
            flux = torch.sin(2 * math.pi * t / period) + 0.05 * index / self.exposures
            if self.seeing(index) > 2.0:
                continue
            yield flux, period / 9.0


def nights_of(rank, world_size):
    return [Night(n) for n in range(rank, 2 * world_size, world_size)]


def stream(rank, world_size, batch_size):
    """Mini-batches of (flux, scaled period) for one rank."""
    pending = []
    for night in nights_of(rank, world_size):
        for sample in night.read():
            pending.append(sample)
            if len(pending) == batch_size:
                flux, period = zip(*pending)
                yield torch.stack(flux), torch.tensor(period).unsqueeze(1)
                pending = []
