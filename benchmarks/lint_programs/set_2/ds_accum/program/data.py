from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

MASK, FIRST_NORMAL, VOCAB = 4, 5, 32768


class MLMShards(Dataset):
    """Rows of token ids in .npy shards, opened lazily with mmap."""

    def __init__(self, root, seed, p=0.15):
        self.files = sorted(Path(root).glob("*.npy"))
        self.arrays = [np.load(f, mmap_mode="r") for f in self.files]
        self.ends = np.cumsum([len(a) for a in self.arrays])
        self.p, self.seed = p, seed

    def __len__(self):
        return int(self.ends[-1])

    def __getitem__(self, i):
        k = int(np.searchsorted(self.ends, i, side="right"))
        off = i - (int(self.ends[k - 1]) if k else 0)
        ids = torch.from_numpy(self.arrays[k][off].astype(np.int64))
        g = torch.Generator().manual_seed(self.seed * 1000003 + int(i))
        pick = (torch.rand(ids.shape, generator=g) < self.p) & (ids >= FIRST_NORMAL)
        labels = ids.masked_fill(~pick, -100)
        roll = torch.rand(ids.shape, generator=g)
        noise = torch.randint(FIRST_NORMAL, VOCAB, ids.shape, generator=g)
        out = torch.where(pick & (roll < 0.8), torch.full_like(ids, MASK), ids)
        out = torch.where(pick & (roll >= 0.9), noise, out)
        return {"input_ids": out, "attention_mask": (ids != 0).long(), "labels": labels}
