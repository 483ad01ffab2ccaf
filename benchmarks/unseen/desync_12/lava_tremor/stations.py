"""Windows of two seismometers at a volcano, one at the crater's rim and one at the foot."""

import time

import torch
from torch.utils.data import Dataset

SAMPLES = 30


class Windows(Dataset):
    def __init__(self, volcano, windows, rest):
        self.volcano, self.windows, self.rest = volcano, windows, rest
        self.filters = torch.randn(SAMPLES, generator=torch.Generator().manual_seed(1))

    def __len__(self):
        return self.windows

    def clipped(self, index):
        """During an explosion the amplifier at the rim is at its limit for the whole window."""
        return self.volcano == 0 and 1_160 <= index < 1_170

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(self.volcano * 30_000 + index)
        time.sleep(self.rest * (0.8 + 0.4 * torch.rand(1, generator=generator).item()))
        foot = torch.randn(SAMPLES, generator=generator)
        rim = foot + 0.4 * torch.randn(SAMPLES, generator=generator)
        energy = torch.tanh(foot @ self.filters / 5).reshape(1)
        if self.clipped(index):
            rim = 9.0 * rim.sign()
        return rim, foot, energy


def usable(trace, limit=8.99):
    """Windows in which the amplifier was not at its limit."""
    return trace.abs().mean(dim=1) < limit
