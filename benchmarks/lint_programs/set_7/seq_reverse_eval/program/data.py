import random

import torch
from torch.utils.data import Dataset

PAD, BOS, EOS = 0, 1, 2
OFFSET = 3


class ReverseDataset(Dataset):
    def __init__(self, size, symbols, min_len, max_len, seed):
        rng = random.Random(seed)
        self.items = [
            [rng.randrange(symbols) + OFFSET for _ in range(rng.randint(min_len, max_len))] for _ in range(size)
        ]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        src = self.items[i]
        return src, [BOS] + src[::-1] + [EOS]


def pad(rows):
    width = max(len(r) for r in rows)
    return torch.tensor([r + [PAD] * (width - len(r)) for r in rows])


def collate(batch):
    src, tgt = zip(*batch)
    return {"src": pad(src), "tgt": pad(tgt)}
