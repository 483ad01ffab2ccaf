"""Customs tariff clauses as token ids. Each clause belongs to one of six chapters."""
import torch
from torch.utils.data import Dataset

VOCAB, LENGTH, CHAPTERS = 120, 24, 6


class Clauses(Dataset):
    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, CHAPTERS, (count,), generator=g)
        noise = torch.randint(0, VOCAB, (count, LENGTH), generator=g)
        topic = self.labels[:, None] * 20 + torch.randint(0, 20, (count, LENGTH), generator=g)
        keep = torch.rand(count, LENGTH, generator=g) < 0.4
        self.ids = torch.where(keep, topic, noise)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.ids[i], self.labels[i]
