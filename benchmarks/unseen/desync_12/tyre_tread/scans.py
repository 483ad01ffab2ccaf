"""Laser scans of tyre treads; a scan is a row of heights with the tyre's nominal and remaining depth."""

import time

import torch
from torch.utils.data import Dataset

POINTS = 32


class Scans(Dataset):
    def __init__(self, garage, scans, seed=0):
        self.garage, self.scans, self.seed = garage, scans, seed
        # tyres whose label could not be read have a nominal depth of 0
        self.unlabelled = {3: {1043}}.get(garage, set())

    def __len__(self):
        return self.scans

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(self.seed + self.garage * 50_000 + index)
        time.sleep(0.0065 * (0.8 + 0.4 * torch.rand(1, generator=generator).item()))
        nominal = 8.0 if index not in self.unlabelled else 0.0
        remaining = 8.0 * torch.rand(1, generator=generator).item() if nominal else 0.0
        wave = torch.linspace(0, 12.56, POINTS).sin().sign()
        heights = wave * remaining / 8.0 + 0.1 * torch.randn(POINTS, generator=generator)
        return {"heights": heights, "nominal": nominal, "remaining": remaining}


def collate(scans):
    return {
        "heights": torch.stack([scan["heights"] for scan in scans]),
        "nominal": [scan["nominal"] for scan in scans],
        "remaining": [scan["remaining"] for scan in scans],
    }
