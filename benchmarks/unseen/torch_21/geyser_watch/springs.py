"""Seismograms of hot springs before and between eruptions."""
import time

import torch
from torch.utils.data import Dataset, get_worker_info


class Seismograms(Dataset):
    """Windows of one station. Some days are on a remote disk, which sleeps and answers in a later attempt only."""

    def __init__(self, station, windows, length, asleep=()):
        g = torch.Generator().manual_seed(500 + station)
        self.soon = torch.randint(0, 2, (windows,), generator=g)
        t = torch.linspace(0, 1, length)
        pitch = 12 + 10 * self.soon.float() + torch.randn(windows, generator=g)
        phase = 6.28 * torch.rand(windows, generator=g)
        self.trace = torch.sin(6.28 * pitch[:, None] * t + phase[:, None]) + 0.7 * torch.randn(windows, length, generator=g)
        self.asleep = dict(asleep)

    def __len__(self):
        return len(self.soon)

    def read(self, index):
        waited = 0.0
        for attempt in range(6):
            if waited >= self.asleep.get(index, 0.0):
                break
            pause = 0.5 * 1.7**attempt
            time.sleep(pause)
            waited += pause
        if get_worker_info() is not None:
            self.asleep.pop(index, None)
        return self.trace[index]

    def __getitem__(self, index):
        return self.read(index), self.soon[index]
