"""Sound of a lathe while it turns, and whether the tool chatters."""

import time

import torch
from torch.utils.data import Dataset

SAMPLES = 40


class Turns(Dataset):
    """A turn is a short piece of sound. Sound of the old lathe is read from a tape that must be wound first."""

    def __init__(self, count, seed, wind=0.0):
        g = torch.Generator().manual_seed(seed)
        phase = 6.28 * torch.rand(count, 1, generator=g)
        ticks = torch.arange(SAMPLES)[None]
        self.labels = (torch.rand(count, generator=g) < 0.5).float()
        hum = torch.sin(0.3 * ticks + phase)
        chatter = torch.sin(1.9 * ticks + phase) * self.labels[:, None]
        self.sound = hum + 0.6 * chatter + 0.3 * torch.randn(count, SAMPLES, generator=g)
        self.wind = wind
        self.wound = False

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        if not self.wound:
            time.sleep(self.wind)
            self.wound = True
        return self.sound[i], self.labels[i]
