"""Made-up limericks, a character at a time."""
import random
import time

import torch
from torch.utils.data import Dataset

ALPHABET = " abcdefghijklmnopqrstuvwxyz,.'\n"
PLACES = ["leeds", "crewe", "kilkenny", "peru", "dundee"]
DEEDS = ["who swallowed some seeds", "who painted things blue", "who lost every penny", "who lived in a shoe"]


class Verses(Dataset):
    def __init__(self, count):
        rng = random.Random(4)
        self.lines = [
            f"there was an old man of {rng.choice(PLACES)}, {rng.choice(DEEDS)}."[:60].ljust(60)
            for _ in range(count)
        ]

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        time.sleep(0.01)
        ids = torch.tensor([ALPHABET.index(c) for c in self.lines[index]])
        return {"input_ids": ids, "labels": ids.clone()}


def collate(rows):
    return {key: torch.stack([row[key] for row in rows]) for key in rows[0]}
