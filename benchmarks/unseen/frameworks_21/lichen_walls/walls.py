"""Patches of old walls, by town, with a mask of the pixels that were photographed."""

import torch
from torch.utils.data import DataLoader, Dataset

PIXELS = 144


class Wall(Dataset):
    def __init__(self, town, patches, seed):
        self.town, self.patches, self.seed = town, patches, seed
        self.pattern = torch.randn(PIXELS, generator=torch.Generator().manual_seed(1)) / PIXELS**0.5

    def __len__(self):
        return self.patches

    def coverage(self, i):
        """The share of a patch that a camera sees; the second town was photographed from afar in the end."""
        return 0.95 if self.town == 1 and i >= self.patches // 2 else 0.55

    def __getitem__(self, i):
        g = torch.Generator().manual_seed((self.seed * 10 + self.town) * 10_000 + i)
        mask = (torch.rand(PIXELS, generator=g) < self.coverage(i)).float()
        patch = torch.randn(PIXELS, generator=g) * mask
        return {"patch": patch, "mask": mask, "cover": (patch @ self.pattern).tanh()}


def loader(town, patches, batch, seed):
    return DataLoader(Wall(town, patches, seed), batch)
