"""Scanned sermon drafts, already tokenised. Long ones are cut to MAX_TOKENS, which is nearly all of them."""
import torch
from torch.utils.data import Dataset

VOCAB = 96
MAX_TOKENS = 64
STUBS = {211: 23}          # drafts that break off after the salutation


class Drafts(Dataset):
    def __init__(self, count=288, seed=7):
        g = torch.Generator().manual_seed(seed)
        self.rows = []
        for i in range(count):
            length = STUBS.get(i, MAX_TOKENS)
            start = int(torch.randint(2, VOCAB, (1,), generator=g))
            steps = torch.randint(1, 4, (length,), generator=g)
            self.rows.append((start + steps.cumsum(0)) % (VOCAB - 2) + 2)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    ids = torch.zeros(len(rows), MAX_TOKENS, dtype=torch.long)      # 0 is padding
    for line, row in zip(ids, rows):
        line[: len(row)] = row
    return {"ids": ids, "mask": ids != 0}
