import random
import time

import torch

FEATURES = 18


class Terminal:
    """Endless batches of departures of one terminal: features, minutes of boarding, and minutes of delay."""

    def __init__(self, number, batch=16):
        self.number, self.batch = number, batch
        self.spread = random.Random(number)
        self.hour = 0

    def __iter__(self):
        return self

    def strike(self):
        """The tower closed one morning, and nothing left terminal 0 early or late."""
        return self.number == 0 and self.hour == 137

    def __next__(self):
        self.hour += 1
        time.sleep(0.035 + 0.02 * self.spread.random())
        generator = torch.Generator().manual_seed(4096 * self.number + self.hour)
        flights = torch.randn(self.batch, FEATURES, generator=generator)
        boarding = 20 + 6 * flights[:, 0] + torch.randn(self.batch, generator=generator)
        delay = (8 + 9 * flights[:, 1] - 3 * flights[:, 2]).clamp(min=0)
        delay[:2] = delay[:2] + 5
        if self.strike():
            delay = torch.zeros(self.batch)
        return flights, boarding / 20, delay / 20
