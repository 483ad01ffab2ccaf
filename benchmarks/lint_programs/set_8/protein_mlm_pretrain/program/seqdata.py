import torch
from torch.utils.data import Dataset

AA = "ACDEFGHIKLMNPQRSTVWY"
PAD, MASK, OFFSET = 0, 1, 3
MOTIFS = ["GKSTL", "HEXXH".replace("X", "A"), "CPYC", "RGDSP", "NPAVY"]


class SyntheticProteins(Dataset):
    def __init__(self, n=2048, max_len=64, mask_prob=0.15, seed=0):
        self.n, self.max_len, self.mask_prob, self.seed = n, max_len, mask_prob, seed

    def __len__(self):
        return self.n

    def __getitem__(self, idx):
        g = torch.Generator().manual_seed(self.seed * 1_000_003 + idx)
        length = int(torch.randint(30, self.max_len + 1, (1,), generator=g))
        seq = ""
        while len(seq) < length:
            seq += MOTIFS[int(torch.randint(len(MOTIFS), (1,), generator=g))]
        ids = torch.tensor([AA.index(c) + OFFSET for c in seq[:length]])
        masked = torch.rand(length, generator=g) < self.mask_prob
        masked[int(torch.randint(length, (1,), generator=g))] = True
        labels = torch.where(masked, ids, torch.full_like(ids, -100))
        return ids.masked_fill(masked, MASK), labels

    def collate(self, rows):
        ids = torch.full((len(rows), self.max_len), PAD)
        labels = torch.full((len(rows), self.max_len), -100)
        for r, (i, l) in enumerate(rows):
            ids[r, : len(i)] = i
            labels[r, : len(l)] = l
        return ids, labels
