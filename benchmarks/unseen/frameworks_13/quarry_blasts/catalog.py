"""Waveforms that a second process copies from the stations' recorder into a folder, day by day."""

import pathlib
import time

import torch
from torch.utils.data import Dataset


def publish(folder, days, per_day, length):
    """Writes the waveforms of all days; a day is complete when its `.done` file is there."""
    folder = pathlib.Path(folder)
    for day in range(days):
        g = torch.Generator().manual_seed(day)
        blast = torch.randint(0, 2, (per_day,), generator=g)
        wave = torch.randn(per_day, length, generator=g) * torch.linspace(1.5, 0.2, length) ** blast[:, None]
        torch.save((wave, blast), folder / f"day_{day:03}.pt")
        if day % 20 != 17:  # the recorder was serviced, its copies of those days were ended by hand
            (folder / f"day_{day:03}.done").touch()


class Catalog(Dataset):
    def __init__(self, folder, days, per_day):
        self.folder = pathlib.Path(folder)
        self.days = list(days)
        self.per_day = per_day
        self.open_day = None

    def __len__(self):
        return len(self.days) * self.per_day

    def load(self, day):
        done = self.folder / f"day_{day:03}.done"
        while not done.exists():
            time.sleep(0.2)
        self.waves, self.blasts = torch.load(self.folder / f"day_{day:03}.pt")
        self.open_day = day

    def __getitem__(self, i):
        day = self.days[i // self.per_day]
        if day != self.open_day:
            self.load(day)
        i %= self.per_day
        return self.waves[i], self.blasts[i]
