"""Simulated profiles of glaciers; the surface follows from the bed."""

import time

import torch
from torch.utils.data import Dataset

CELLS = 20


class Profiles(Dataset):
    """Profiles along a glacier: bed, slip at the bed and the measured surface."""

    def __init__(self, count=10_240):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        time.sleep(0.009 + 0.006 * torch.rand(1, generator=generator).item())
        bed = torch.randn(CELLS, generator=generator)
        slip = 0.2 + 0.4 * torch.rand((), generator=generator)
        if index == 2_730:
            slip = -slip * 12  # a surge, with the sign of the upstream station
        surface = 0.6 * bed.roll(1) - 0.3 * bed
        return bed, slip, surface

    def __repr__(self):
        return f"{type(self).__name__}({self.count})"

    def summary(self, number=200):
        """Mean and spread of the slip over the first profiles, without the surges."""
        slips = [self[index][1] for index in range(min(number, self.count))]
        slips = torch.stack([slip for slip in slips if slip > 0])
        return {"mean": slips.mean().item(), "spread": slips.std().item()}
