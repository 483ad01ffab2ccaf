"""Synthetic takes: a reed with a slow drift, as mel frames."""
import time

import torch
from torch.utils.data import Dataset


class Takes(Dataset):
    def __init__(self, count, bands=48, frames=100):
        self.count, self.bands, self.frames = count, bands, frames

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(0.012)               # decoding a FLAC costs about this much
        noise = torch.Generator().manual_seed(index)
        drift = torch.rand((), generator=noise) * 2 - 1
        ramp = torch.linspace(0, 1, self.frames) * drift
        return torch.randn(self.bands, self.frames, generator=noise) * 0.3 + ramp, drift


def collate(takes):
    mels, drift = zip(*takes)
    return torch.stack(mels), torch.stack(drift)
