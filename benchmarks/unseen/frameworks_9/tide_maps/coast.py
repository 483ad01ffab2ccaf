import time
from dataclasses import dataclass

import torch
from torch.utils.data import Dataset


@dataclass(frozen=True)
class Section:
    name: str
    islands: int


SECTIONS = (Section("bay", 1), Section("archipelago", 9), Section("cliffs", 2))


class CoastSection(Dataset):
    """Pairs of a coarse and a fine field; a field with many islands takes longer to grid."""

    def __init__(self, section, fields, seed):
        self.section = section
        self.fields = fields
        self.seed = seed * 1000

    def __len__(self):
        return self.fields

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed + i)
        y, x = torch.meshgrid(torch.linspace(0, 3, 16), torch.linspace(0, 3, 16), indexing="ij")
        fine = torch.sin(x + i / 7) * torch.cos(2 * y)
        for _ in range(self.section.islands):
            cx, cy = (3 * torch.rand(2, generator=g)).tolist()
            fine = fine * (1 - torch.exp(-8 * ((x - cx) ** 2 + (y - cy) ** 2)))
            time.sleep(0.0015)
        coarse = torch.nn.functional.avg_pool2d(fine[None], 2)
        return coarse, fine[None]
