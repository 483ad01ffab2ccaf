import math

import torch
from torch.utils.data import Dataset


class TideDataset(Dataset):
    """Windows of a synthetic tide gauge: four constituents and noise."""

    PERIODS = (12.42, 12.0, 23.93, 25.82)

    def __init__(self, hours, window, horizon, seed):
        g = torch.Generator().manual_seed(seed)
        t = torch.arange(hours, dtype=torch.float32)
        level = torch.zeros(hours)
        for period in self.PERIODS:
            phase = torch.rand(1, generator=g).item() * 2 * math.pi
            level += torch.sin(2 * math.pi * t / period + phase)
        self.level = level + 0.05 * torch.randn(hours, generator=g)
        self.window = window
        self.horizon = horizon

    def __len__(self):
        return len(self.level) - self.window - self.horizon

    def __getitem__(self, i):
        mid = i + self.window
        return self.level[i:mid], self.level[mid:mid + self.horizon]
