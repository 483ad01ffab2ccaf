"""Sticky-trap photos from the beet trial. Synthetic stand-in with the same layout as the real tiles."""
import time

import torch
from torch.utils.data import Dataset

SPECIES = ["weevil", "aphid", "leafminer", "moth"]


class TrapTiles(Dataset):
    """3x16x16 tiles with the species that was counted on them. Fields are contiguous in the index file."""

    def __init__(self, fields, tiles_per_field, seed):
        g = torch.Generator().manual_seed(seed)
        self.images, self.labels = [], []
        for field in range(fields):
            # leafminers are a disease of the wet plots; the upland field never had one
            pool = [0, 1, 3] if field == fields - 1 else [0, 1, 2, 3]
            for i in range(tiles_per_field):
                label = pool[i % len(pool)]
                image = torch.randn(3, 16, 16, generator=g) * 0.3
                image[label % 3, :, 4 * label:4 * label + 4] += 1.0
                self.images.append(image)
                self.labels.append(label)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        time.sleep(0.008)          # jpeg decoding
        return self.images[i], self.labels[i]


class FieldSampler(torch.utils.data.Sampler):
    """Validation by field: each rank looks at its own field so that the per-field table makes sense."""

    def __init__(self, tiles_per_field, rank):
        self.start, self.count = rank * tiles_per_field, tiles_per_field

    def __iter__(self):
        return iter(range(self.start, self.start + self.count))

    def __len__(self):
        return self.count
