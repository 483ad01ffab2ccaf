"""Snow pits: the hardness of the layers and the density that was weighed."""

import time

import torch
from torch.utils.data import Dataset

LAYERS = 16


class Pits(Dataset):
    """All pits of a winter; avalanche dogs were digging on some of the slopes."""

    def __init__(self, pits, dug_up):
        self.pits = pits
        self.dug_up = dug_up

    def __len__(self):
        return self.pits

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(90_000 + index)
        time.sleep(0.012 * (0.8 + 0.4 * torch.rand(1, generator=generator).item()))
        hardness = torch.rand(LAYERS, generator=generator).sort().values
        density = 0.1 + 0.3 * hardness.mean(dim=0, keepdim=True)
        return {"hardness": hardness, "density": density, "disturbed": index in self.dug_up}


def slope(start, length):
    """The pits of one slope, which were dug one after the other."""
    return frozenset(range(start, start + length))
