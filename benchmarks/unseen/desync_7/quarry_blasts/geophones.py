import random
import time

import torch
from torch.utils.data import Dataset

CHANNELS = 6


class Blasts(Dataset):
    """Readings of the geophones around a quarry, one item for a blast with all its shots."""

    unplugged = {(0, 150): 3}

    def __init__(self, quarry, blasts, shots):
        self.quarry, self.blasts, self.shots = quarry, blasts, shots
        self.random = random.Random(40 + quarry)

    def __len__(self):
        return self.blasts

    def __getitem__(self, blast):
        time.sleep(0.055 + 0.02 * self.random.random())
        generator = torch.Generator().manual_seed(self.quarry * 10_000 + blast)
        distance = torch.rand(self.shots, CHANNELS, generator=generator) + 0.2
        charge = torch.rand(self.shots, 1, generator=generator)
        readings = charge / distance + 0.05 * torch.randn(self.shots, CHANNELS, generator=generator)
        channel = self.unplugged.get((self.quarry, blast))
        if channel is not None:
            readings[:, channel] = 0.0
        return readings, charge
