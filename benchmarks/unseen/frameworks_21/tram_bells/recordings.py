"""Recordings of tram bells by month, 256 samples each, and the wear of the clapper."""

import torch
from torch.utils.data import Dataset

SAMPLES = 256


class Month(Dataset):
    def __init__(self, month, count, seed=3):
        self.month = month
        self.count = count
        self.seed = seed
        # days on which the recorder of the third depot was not plugged in
        self.silent = {128, 129, 130, 131} if month == 2 else set()

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed((self.seed * 100 + self.month) * 10_000 + i)
        wear = torch.rand((), generator=g)
        t = torch.arange(SAMPLES) / SAMPLES
        wave = torch.sin(2 * torch.pi * (20 + 30 * wear) * t) + 0.5 * torch.randn(SAMPLES, generator=g)
        if i in self.silent:
            wave = torch.zeros(SAMPLES)
        return (wave - wave.mean()) / wave.std(), wear
