"""Photographs of moss plots as vectors of colours. Some are on a disk that has to be woken up."""
import time

import torch
from torch.utils.data import Dataset

COLOURS = 32
KINDS = 6


class SleepingDisk(OSError):
    pass


class Plots(Dataset):
    def __init__(self, garden, count):
        self.garden = garden
        shared = torch.Generator().manual_seed(21)
        typical = torch.randn(KINDS, COLOURS, generator=shared)
        random = torch.Generator().manual_seed(400 + garden)
        self.kind = torch.randint(KINDS, (count,), generator=random)
        self.colours = typical[self.kind] + 0.8 * torch.randn(count, COLOURS, generator=random)
        # a foggy hour: no photograph of these can be used
        self.fog = range(96, 112) if garden == 2 else range(0)
        self.asleep = {130: 3} if garden == 1 else {}

    def __len__(self):
        return len(self.kind)

    def read(self, plot):
        if self.asleep.get(plot, 0) > 0:
            self.asleep[plot] -= 1
            raise SleepingDisk(f"plot {plot}")
        return self.colours[plot]

    def __getitem__(self, plot):
        pause = 0.5
        while True:
            try:
                colours = self.read(plot)
                break
            except SleepingDisk:
                time.sleep(pause)
                pause *= 2
        if plot in self.fog:
            colours = torch.full_like(colours, float("nan"))
        return colours, self.kind[plot]
