"""Images of coins from the belts of a mint; a belt has its own number of trays."""

import random
import time

import torch

PIXELS = 32


class Belt:
    trays = (110, 95, 99, 98)

    def __init__(self, belt, size):
        self.belt, self.size = belt, size
        self.rng = random.Random(belt)
        self.unreadable = {17 + 20 * belt, 70 + 3 * belt}

    def __len__(self):
        return self.trays[self.belt]

    def tray(self, epoch, number):
        time.sleep(self.rng.uniform(0.03, 0.06 + 0.01 * self.belt))
        generator = torch.Generator().manual_seed(1_000_000 * self.belt + 1_000 * epoch + number)
        coins = torch.randn(self.size, PIXELS, generator=generator)
        if number in self.unreadable:
            coins[0, 0] = float("nan")
        return coins


class Feed:
    """The trays of an epoch; for one that cannot be read, the last good one is given again."""

    def __init__(self, belt):
        self.belt, self.last, self.replaced = belt, torch.zeros(belt.size, PIXELS), 0

    def epoch(self, epoch, count):
        for number in range(count):
            coins = self.belt.tray(epoch, number)
            if torch.isnan(coins).any():
                self.replaced += 1
                coins = self.last
            self.last = coins
            yield coins
