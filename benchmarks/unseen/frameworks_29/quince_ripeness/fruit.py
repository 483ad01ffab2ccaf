import time

import torch
from torch.utils.data import Dataset


class Quinces(Dataset):
    """Near-infrared spectra of quinces with the firmness that the penetrometer measured."""

    def __init__(self, count=480):
        g = torch.Generator().manual_seed(17)
        self.firmness = torch.rand(count, 1, generator=g)
        bands = torch.linspace(0, 3, 24)
        self.spectra = torch.sin(bands + 2 * self.firmness) + 0.05 * torch.randn(count, 24, generator=g)

    def __len__(self):
        return len(self.firmness)

    def __getitem__(self, i):
        time.sleep(0.01)
        return self.spectra[i], self.firmness[i]
