"""Catalogue entries of postcards: the text on the back, the place of the postmark, and the date in it."""

import random
from datetime import datetime

import torch
from torch.utils.data import Dataset

WORDS = 400
LENGTH = 20
EPOCH = datetime(1895, 1, 1)


def catalogue(count, seed):
    """Entries as the cataloguers typed them."""
    rng = random.Random(seed)
    entries = []
    for number in range(count):
        year = rng.randint(1898, 1914)
        entries.append(
            {
                "words": [min(WORDS - 1, (year - 1898) * 20 + rng.randint(0, 60)) for _ in range(LENGTH)],
                "postmark": f"{rng.randint(1, 28)}.{rng.randint(1, 12)}.{year}",
            }
        )
        if number % 2000 == 1003:
            entries[-1]["postmark"] = f"29.2.{year - year % 4 + 1}"
    return entries


def years_since_start(postmark):
    date = datetime.strptime(postmark, "%d.%m.%Y")
    return (date - EPOCH).days / 365.25


class Postcards(Dataset):
    def __init__(self, entries):
        self.entries = entries

    def __len__(self):
        return len(self.entries)

    def __getitem__(self, i):
        entry = self.entries[i]
        return {"words": torch.tensor(entry["words"]), "age": torch.tensor(years_since_start(entry["postmark"]))}
