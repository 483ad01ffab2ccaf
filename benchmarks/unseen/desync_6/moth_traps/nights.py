"""Catches of light traps, night by night."""

import random
import time

import torch
from torch.utils.data import DataLoader, Dataset

WEATHER, MOTHS = 10, 7


class Trap(Dataset):
    """One trap; a trap in the valley has more nights than one on the ridge."""

    def __init__(self, site, nights):
        self.site, self.nights = site, nights
        self.pause = random.Random(site)

    def __len__(self):
        return self.nights

    def __getitem__(self, night):
        time.sleep(0.008 + 0.004 * self.pause.random())
        generator = torch.Generator().manual_seed(night * 5 + self.site)
        weather = torch.randn(WEATHER, generator=generator)
        rate = (weather[:MOTHS] * 0.5 + 0.3 * self.site).exp()
        return weather, torch.poisson(rate, generator=generator)


NIGHTS = {0: 2_400, 1: 1_720, 2: 2_040}


def trap(site, batch=6):
    return DataLoader(Trap(site, NIGHTS[site]), batch, shuffle=True)
