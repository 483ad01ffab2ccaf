"""Postmarks (a ring and a bar whose height tells the decade), and a collator that re-reads bad scans."""
import os
import random
import time

import torch
from torch.utils.data import Dataset

DECADES = 6


class Postmarks(Dataset):
    def __init__(self, count, seed):
        self.count, self.seed = count, seed

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        generator = torch.Generator().manual_seed(self.seed * 100_000 + number)
        decade = number % DECADES
        pixels = 0.3 * torch.rand(1, 24, 24, generator=generator)
        pixels[0, 3 * decade + 3, 4:20] = 1
        return {"pixels": pixels, "labels": decade}


class PatientCollator:
    """The scanner's share on rank 2's machine is shaky: try again, longer each time, at most 4 times."""

    def __init__(self):
        self.shaky = os.environ.get("RANK") == "2"
        self.rng = random.Random(6)

    def _read(self, row):
        for attempt in range(4):
            if not self.shaky or attempt == 3 or self.rng.random() > 0.03:
                return row["pixels"]
            time.sleep(0.4 * 2 ** attempt)
        return row["pixels"]

    def __call__(self, rows):
        time.sleep(0.02)
        return {
            "pixels": torch.stack([self._read(row) for row in rows]),
            "labels": torch.tensor([row["labels"] for row in rows]),
        }
