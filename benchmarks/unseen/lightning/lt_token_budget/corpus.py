import torch
from torch.utils.data import Dataset

SOURCES = {"chat": (18, 30), "wiki": (22, 34), "code": (48, 49)}
LENGTH = 48


class MixedCorpus(Dataset):
    """Documents of three sources in turn, padded to one length."""

    def __init__(self, n: int, vocab: int = 200):
        self.n, self.vocab = n, vocab
        self.sources = list(SOURCES.values())

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(1000 + i)
        low, high = self.sources[i % len(self.sources)]
        size = int(torch.randint(low, high, (1,), generator=g))
        ids = torch.zeros(LENGTH, dtype=torch.long)
        ids[:size] = torch.randint(1, self.vocab, (size,), generator=g)
        mask = torch.zeros(LENGTH, dtype=torch.long)
        mask[:size] = 1
        return {"input_ids": ids, "attention_mask": mask}
