import time

import torch
from torch.utils.data import IterableDataset

LAGS = 16
DAYS = 8


class GaugeDays(IterableDataset):
    """Readings of one gauge. Spikes and outages are left out, so days have different lengths."""

    def __init__(self, gauge, slow=False):
        self.gauge = gauge
        self.slow = slow
        self.day = 0
        self.limit = float("inf")

    def usable(self, day):
        g = torch.Generator().manual_seed(self.gauge * 1000 + day)
        length = 1100
        t = torch.arange(length + LAGS) / 25.0
        level = torch.sin(t + 0.2 * self.gauge) + 0.3 * torch.sin(2.1 * t)
        level = level + 0.05 * torch.randn(level.shape, generator=g)
        outage = torch.rand(length, generator=g) < 0.02 * (1 + self.gauge)
        rows = torch.arange(length)[~outage]
        return level, rows

    def available(self, day):
        return len(self.usable(day)[1])

    def __iter__(self):
        day = self.day
        self.day += 1
        level, rows = self.usable(day)
        for taken, row in enumerate(rows.tolist()):
            if taken >= self.limit:
                break
            if self.slow and taken % 160 == 159:
                time.sleep(0.15)
            target = level[row + LAGS]
            if day == 4 and self.gauge == 2 and 320 <= taken < 352:
                target = torch.tensor(float("nan"))
            yield level[row : row + LAGS], target
