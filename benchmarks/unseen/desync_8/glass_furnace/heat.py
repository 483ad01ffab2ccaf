"""Thermocouples of a glass furnace and the temperature of the glass at the outlet."""

import time

import torch
from torch.utils.data import DataLoader, IterableDataset

COUPLES = 16


class Furnace(IterableDataset):
    def __init__(self, furnace, rounds, rows):
        self.furnace, self.rounds, self.rows = furnace, rounds, rows

    def measure(self, number, generator):
        couples = torch.randn(self.rows, COUPLES, generator=generator)
        if (number + 3 * self.furnace) % 41 == 7:
            couples[:, number % COUPLES] = float("nan")  # a couple burnt through
        outlet = couples.nan_to_num()[:, :4].mean(1) + 0.1 * torch.randn(self.rows, generator=generator)
        return couples, outlet

    def __iter__(self):
        generator = torch.Generator().manual_seed(200 + self.furnace)
        good = None
        for number in range(self.rounds):
            couples, outlet = self.measure(number, generator)
            time.sleep(0.02 + 0.01 * self.furnace + 0.01 * torch.rand(1, generator=generator).item())
            if couples.isnan().any() and good is not None:
                couples, outlet = good
            good = (couples.nan_to_num(), outlet)
            yield good


def rounds_of(furnace, rounds, rows=12):
    return DataLoader(Furnace(furnace, rounds, rows), batch_size=None)
