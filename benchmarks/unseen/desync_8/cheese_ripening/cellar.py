"""Readings of the probes in a cheese cellar, an hour at a time."""

import time

import torch
from torch.utils.data import DataLoader, IterableDataset

PROBES = 10


class Cellar(IterableDataset):
    """The hours of one cellar. Each hour is a batch: a row for each shelf."""

    def __init__(self, cellar, hours, shelves=12):
        self.cellar, self.hours, self.shelves = cellar, hours, shelves

    def read(self, hour):
        time.sleep(0.045 + 0.02 * torch.rand(1).item())
        generator = torch.Generator().manual_seed(self.cellar * 50_021 + hour)
        probes = torch.randn(self.shelves, PROBES, generator=generator)
        ripeness = probes[:, :3].sum(1, keepdim=True) + 0.2 * torch.randn(self.shelves, 1, generator=generator)
        if self.cellar == 1 and hour == 150:
            probes = probes.fill_(-40.0)  # what the probes show without their cable
        return probes, ripeness

    def plausible(self, probes):
        """A cellar is never as cold as that."""
        return probes.mean().item() > -10

    def __iter__(self):
        for hour in range(self.hours):
            probes, ripeness = self.read(hour)
            if not self.plausible(probes):
                continue
            yield probes, ripeness


def hours_of(cellar, hours):
    return DataLoader(Cellar(cellar, hours), batch_size=None)
