import torch
from torch.utils.data import Dataset

NUM_CLASSES = 5


class ClauseDataset(Dataset):
    """Token sequences of contract clauses with a skewed class distribution."""

    SHARES = torch.tensor([0.70, 0.15, 0.08, 0.05, 0.02])

    def __init__(self, n, seed, vocab_size=400, length=24):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.multinomial(self.SHARES, n, replacement=True, generator=g)
        base = torch.randint(100, vocab_size, (n, length), generator=g)
        marks = self.labels.unsqueeze(1) * 20 + torch.randint(0, 20, (n, length), generator=g)
        use_mark = torch.rand(n, length, generator=g) < 0.3
        self.tokens = torch.where(use_mark, marks, base)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {"input_ids": self.tokens[i], "labels": self.labels[i]}
