"""Peat cores: a row for each core, with the readings of the sections from the top to the bottom."""

import time

import torch
from torch.utils.data import Dataset

SECTIONS = 20


class BogCores(Dataset):
    """The cores of one bog in the order in which they were drilled."""

    def __init__(self, bog, cores, pause):
        self.bog, self.cores, self.pause = bog, cores, pause
        self.weights = torch.linspace(1.0, 0.1, SECTIONS)
        # the probe's battery ran out on some days; its readings are missing then
        self.flat_battery = {1: range(960, 968)}.get(bog, range(0))

    def __len__(self):
        return self.cores

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(self.bog * 100_000 + index)
        time.sleep(self.pause * (0.8 + 0.4 * float(torch.rand(1, generator=generator))))
        humus = torch.rand(SECTIONS, generator=generator)
        density = (humus * self.weights).sum().reshape(1) / self.weights.sum()
        if index in self.flat_battery:
            humus[3:] = float("nan")
        return humus, density


def measured(humus):
    """The share of sections that were measured."""
    return float(torch.isfinite(humus).float().mean())
