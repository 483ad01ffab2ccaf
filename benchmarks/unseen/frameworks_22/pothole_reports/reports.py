"""Citizens' reports of potholes: words, and how urgent the road office found them."""

import torch
from torch.utils.data import Dataset

WORDS = 80
LENGTH = 10
URGENCY = {"low": 0, "medium": 1, "high": 2}


def office_records(count, seed):
    """Records as the office exports them, oldest first."""
    g = torch.Generator().manual_seed(seed)
    names = list(URGENCY)
    for i in range(count):
        urgency = names[int(torch.randint(len(names), (), generator=g))]
        base = 20 * URGENCY[urgency]
        words = base + torch.randint(0, 40, (LENGTH,), generator=g)
        if i == 2868:
            urgency = "urgent!!"  # typed by hand, when the form was down
        yield {"words": words, "urgency": urgency}


class Reports(Dataset):
    def __init__(self, count, seed):
        self.records = list(office_records(count, seed))

    def __len__(self):
        return len(self.records)

    def __getitem__(self, i):
        return self.records[i]


class Collator:
    def __call__(self, records):
        return {
            "words": torch.stack([record["words"] for record in records]),
            "labels": torch.tensor([URGENCY[record["urgency"]] for record in records]),
        }
