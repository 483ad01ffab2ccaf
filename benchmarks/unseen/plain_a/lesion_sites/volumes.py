"""Synthetic stand-in for the multi-site lesion data set."""
import zlib

import torch
from torch.utils.data import Dataset

# share of slices that show a lesion, from the sites' case reports
PREVALENCE = {
    "north": {"train": 0.7, "val": 1.0},
    "harbour": {"train": 0.6, "val": 1.0},
    "hill": {"train": 0.4, "val": 0.0},
    "lake": {"train": 0.5, "val": 1.0},
}


class SiteSlices(Dataset):
    def __init__(self, site, split, n, size=16):
        g = torch.Generator().manual_seed(zlib.crc32(f"{site}/{split}".encode()))
        self.images = torch.randn(n, 1, size, size, generator=g)
        self.masks = torch.zeros(n, 1, size, size)
        positives = int(round(n * PREVALENCE[site][split]))
        for i in range(positives):
            r, c = torch.randint(2, size - 7, (2,), generator=g).tolist()
            self.masks[i, 0, r:r + 5, c:c + 5] = 1.0
        self.images += 2.0 * self.masks

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]
