"""Trays of seeds, and how surprising a tray is.

The chances are exact: the trays of rare species are small, and approximations are worst there.
"""

import math

import torch
from torch.utils.data import Dataset

SOIL = 12
# how many seeds are sown in a tray: (usually, in the trays with these numbers)
SOWN = 400
DUST = {2: {97: 30_000_000}}


class Trays(Dataset):
    """Trays of one greenhouse: soil and light, the seeds sown, the seeds grown. Orchids are sown as dust, by the gram."""

    def __init__(self, house, count, seed):
        g = torch.Generator().manual_seed(1000 * seed + house)
        rule = torch.randn(SOIL, generator=torch.Generator().manual_seed(0)) / SOIL**0.5
        self.soil = torch.randn(count, SOIL, generator=g)
        self.sown = torch.full((count,), SOWN, dtype=torch.long)
        for tray, seeds in DUST.get(house, {}).items() if seed == 2 else ():
            self.sown[tray] = seeds
        rate = torch.sigmoid(self.soil @ rule + 0.1 * torch.randn(count, generator=g))
        self.grown = (self.sown * rate).round().long()

    def __len__(self):
        return len(self.soil)

    def __getitem__(self, i):
        return self.soil[i], self.sown[i], self.grown[i]


def log_ways(sown, grown):
    """The logarithm of the number of ways in which `grown` of `sown` seeds can be the ones that grew."""
    return math.log(math.comb(sown, grown))


def surprise(sown, grown, rate):
    """Minus the logarithm of the binomial chance of `grown` of `sown` seeds, if each grows with the chance `rate`."""
    rate = min(max(rate, 1e-6), 1 - 1e-6)
    return -(log_ways(sown, grown) + grown * math.log(rate) + (sown - grown) * math.log(1 - rate))
