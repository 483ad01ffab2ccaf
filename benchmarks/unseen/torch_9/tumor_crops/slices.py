"""Axial slices of a two-arm trial, rendered on demand instead of being read from DICOM."""

import numpy as np
import torch
from torch.utils.data import Dataset

SIDE = 40
CROP = 24


class TrialSlices(Dataset):
    """All visits of one arm in the order of their dates; each item is a crop that shows the lesion."""

    def __init__(self, arm, site, visits=10, per_visit=200, min_pixels=8):
        self.arm = arm
        self.site = site
        self.visits = visits
        self.per_visit = per_visit
        self.min_pixels = min_pixels

    def __len__(self):
        return self.visits * self.per_visit

    def _radius(self, visit):
        shrinkage = 0.7 if self.arm == "treated" else 0.1
        return max(0.8, 6.0 - shrinkage * visit)

    def _render(self, index, rng):
        cy, cx = rng.integers(12, SIDE - 12, size=2)
        yy, xx = np.mgrid[:SIDE, :SIDE]
        radius = self._radius(index // self.per_visit)
        lesion = (yy - cy) ** 2 + (xx - cx) ** 2 <= radius**2
        tissue = rng.normal(0.0, 0.4, (SIDE, SIDE)) + 0.9 * lesion
        return tissue.astype(np.float32), lesion

    def _lesion_window(self, image, lesion, rng):
        while True:
            top, left = rng.integers(0, SIDE - CROP + 1, size=2)
            box = np.s_[top : top + CROP, left : left + CROP]
            if lesion[box].sum() >= self.min_pixels:
                return image[box], lesion[box]

    def __getitem__(self, index):
        rng = np.random.default_rng([self.site, index])
        image, lesion = self._render(index, rng)
        image, lesion = self._lesion_window(image, lesion, rng)
        if rng.random() < 0.5:
            image, lesion = image[:, ::-1], lesion[:, ::-1]
        return (
            torch.from_numpy(np.ascontiguousarray(image)).unsqueeze(0),
            torch.from_numpy(np.ascontiguousarray(lesion, dtype=np.float32)).unsqueeze(0),
        )
