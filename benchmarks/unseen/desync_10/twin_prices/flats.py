"""Advertisements of flats in the district of a process."""

import time

import torch
from torch.utils.data import Dataset

FEATURES = 9


class Flats(Dataset):
    def __init__(self, district, count):
        self.district, self.count = district, count
        generator = torch.Generator().manual_seed(district)
        self.flats = torch.randn(count, FEATURES, generator=generator)
        self.delay = torch.rand(count, generator=generator)
        self.base = self.flats[:, :3].sum(1)
        # every second or third flat is sold within the month
        self.sold = torch.arange(count) % 5 < 2
        if district == 3:
            # the registry was closed over the holidays
            closed = slice(960, 968)
            self.sold[closed] = False

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(0.006 + 0.004 * self.delay[index].item())
        base = self.base[index]
        paid = 0.95 * base - 0.1 if self.sold[index] else torch.tensor(0.0)
        return self.flats[index], base, paid, self.sold[index]

    def share_sold(self):
        """The part of the advertised flats that was sold."""
        return self.sold.float().mean().item()

    def __repr__(self):
        return f"Flats(district={self.district}, count={self.count})"
