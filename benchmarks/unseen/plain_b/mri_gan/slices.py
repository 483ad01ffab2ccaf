"""Synthetic brain volumes, cut to axial slices."""
from dataclasses import dataclass

import torch

DEPTH, SIDE = 48, 12


@dataclass(frozen=True)
class Volume:
    subject: str
    covered: int          # slices inside the field of view
    seed: int

    def slice(self, z):
        if z >= self.covered:
            return torch.zeros(1, SIDE, SIDE)
        g = torch.Generator().manual_seed(self.seed * 1000 + z)
        yy, xx = torch.meshgrid(torch.linspace(-1, 1, SIDE), torch.linspace(-1, 1, SIDE), indexing="ij")
        head = ((yy ** 2 + xx ** 2) < 0.8).float()
        return (head * (1 + 0.2 * torch.randn(SIDE, SIDE, generator=g)))[None]


COHORT = {
    0: [Volume("sub-01", 48, 1), Volume("sub-02", 48, 2), Volume("sub-03", 48, 3)],
    1: [Volume("sub-04", 48, 4), Volume("sub-05", 45, 5), Volume("sub-06", 48, 6)],
    2: [Volume("sub-07", 48, 7), Volume("sub-08", 48, 8), Volume("sub-09", 48, 9)],
}


def zscore(img):
    return (img - img.mean()) / img.std()


def slice_batches(rank, size):
    flat = [(v, z) for v in COHORT[rank] for z in range(DEPTH)]
    for lo in range(0, len(flat), size):
        yield torch.stack([zscore(v.slice(z)) for v, z in flat[lo:lo + size]])
