"""Infrared spectra of soil samples, one folder of them for each instrument."""

import torch
from torch.utils.data import Dataset

CHANNELS = 96


class Spectra(Dataset):
    def __init__(self, instrument, count):
        self.instrument = instrument
        self.count = count
        generator = torch.Generator().manual_seed(100 + instrument)
        self.values = torch.randn(count, CHANNELS, generator=generator)
        self.carbon = self.values[:, :8].mean(1, keepdim=True)
        if instrument == 2:
            # the lamp of this instrument failed for one afternoon
            self.values[4160:4176, 40:] = float("nan")

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.values[i], self.carbon[i]
