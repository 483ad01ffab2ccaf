"""Ground vibration of blasts in a quarry: what the geophones heard, and the peak velocity at the nearest house."""

import torch
from torch.utils.data import Dataset

CHANNELS = 24
MISFIRES = (8, 129, 1000)


class Blasts(Dataset):
    def __init__(self, count, seed, misfires=()):
        g = torch.Generator().manual_seed(seed)
        weights = torch.randn(CHANNELS, generator=torch.Generator().manual_seed(0)) / CHANNELS**0.5
        self.signals = torch.randn(count, CHANNELS, generator=g)
        self.velocity = self.signals @ weights + 0.1 * torch.randn(count, generator=g)
        for index in misfires:
            self.signals[index, 3] = 11.0  # one hole went off on its own

    def __len__(self):
        return len(self.signals)

    def __getitem__(self, index):
        return {"signal": self.signals[index], "velocity": self.velocity[index]}
