"""Slabs of marble as small pictures, unpacked from a block when the first of its slabs is asked for."""

import functools
import time

import torch
from torch.utils.data import Dataset

SIDE = 12
SLABS = 240

# seconds that the saw needs for a block; the third one is uncommonly hard
SAW = {0: 0.3, 1: 0.4, 2: 5.0, 3: 0.3, 4: 0.4, 5: 4.0, 6: 0.3, 7: 0.3, 8: 0.4, 9: 0.3}


@functools.lru_cache(maxsize=2)
def cut(block):
    """All slabs of a block and the direction of their veins."""
    time.sleep(SAW.get(block, 0.3))
    g = torch.Generator().manual_seed(900 + block)
    angle = torch.rand(SLABS, generator=g) * torch.pi
    rows, columns = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
    wave = torch.cos(angle)[:, None, None] * rows + torch.sin(angle)[:, None, None] * columns
    return torch.sin(wave) + 0.3 * torch.randn(SLABS, SIDE, SIDE, generator=g), torch.cos(2 * angle)


class Slabs(Dataset):
    """The slabs of some blocks, one block after the other."""

    def __init__(self, blocks):
        self.blocks = list(blocks)

    def __len__(self):
        return len(self.blocks) * SLABS

    def __getitem__(self, i):
        pictures, veins = cut(self.blocks[i // SLABS])
        return pictures[i % SLABS], veins[i % SLABS]
