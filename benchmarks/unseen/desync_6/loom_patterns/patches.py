"""Patches of woven cloth, photographed by a camera over each loom."""

import random
import time

import torch
from torch.utils.data import DataLoader, Dataset

SIDE = 7
KINDS = 5


class Cloth(Dataset):
    """The pictures of one loom in the order in which they were taken."""

    def __init__(self, loom, length):
        self.loom, self.length = loom, length
        self.jitter = random.Random(loom)

    def __len__(self):
        return self.length

    def lamp(self, index):
        """Brightness of the lamp over the loom; it follows the current in the hall."""
        if self.loom == 1 and index in range(1080, 1088):
            return 0.0
        return 0.6 + 0.3 * ((index * 37) % 100) / 100

    def __getitem__(self, index):
        time.sleep(0.006 + self.jitter.random() * 0.002)
        generator = torch.Generator().manual_seed(self.loom * 100_000 + index)
        kind = int(torch.randint(0, KINDS, (1,), generator=generator))
        weave = torch.rand(SIDE, SIDE, generator=generator) * 0.5 + 0.2
        weave[kind] += 0.3
        return (weave * self.lamp(index)).flatten(), kind


def optical_density(picture):
    """Density relative to the brightest thread of the picture."""
    brightest = picture.amax(dim=1, keepdim=True)
    return -torch.log10(picture / brightest)


def make_loader(loom, config):
    return DataLoader(Cloth(loom, config.batch * config.pictures), config.batch, drop_last=True)
