"""Made-up verses: syllables with a stress pattern, and the metre to be named."""

import torch
from torch.utils.data import Dataset

SYLLABLES = 60
LENGTH = 14
METRES = ("iambic", "trochaic", "anapaestic", "dactylic")
PATTERNS = {"iambic": "01", "trochaic": "10", "anapaestic": "001", "dactylic": "100"}


def verse(metre, generator):
    pattern = PATTERNS[metre]
    stress = torch.tensor([int(pattern[i % len(pattern)]) for i in range(LENGTH)])
    slips = torch.rand(LENGTH, generator=generator) < 0.15
    stress = torch.where(slips, 1 - stress, stress)
    half = SYLLABLES // 2
    return torch.randint(0, half, (LENGTH,), generator=generator) + half * stress


class Verses(Dataset):
    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        self.rows = []
        for _ in range(count):
            label = int(torch.randint(len(METRES), (), generator=g))
            self.rows.append({"input_ids": verse(METRES[label], g), "labels": label})

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    return {
        "input_ids": torch.stack([row["input_ids"] for row in rows]),
        "labels": torch.tensor([row["labels"] for row in rows]),
    }
