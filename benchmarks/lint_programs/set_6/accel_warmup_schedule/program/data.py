import torch
from torch.utils.data import Dataset


class Reviews(Dataset):
    """Bags of token ids; the label depends on a handful of marker tokens."""

    def __init__(self, n, vocab=500, length=32, classes=4, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(classes, (n,), generator=g)
        self.ids = torch.randint(classes, vocab, (n, length), generator=g)
        where = torch.randint(length, (n, 3), generator=g)
        self.ids.scatter_(1, where, self.labels[:, None].expand(-1, 3))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.labels[i]}
