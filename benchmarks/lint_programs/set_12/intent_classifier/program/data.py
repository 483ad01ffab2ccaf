import torch
from torch.utils.data import Dataset


class Utterances(Dataset):
    """Synthetic utterances: every intent prefers its own range of word ids."""

    def __init__(self, cfg, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, cfg.n_intents, (n,), generator=g)
        self.lengths = torch.randint(6, cfg.max_len + 1, (n,), generator=g)
        span = (cfg.vocab - 1) // cfg.n_intents
        own = self.labels[:, None] * span + torch.randint(0, span, (n, cfg.max_len), generator=g)
        other = torch.randint(0, cfg.vocab - 1, (n, cfg.max_len), generator=g)
        keep = torch.rand(n, cfg.max_len, generator=g) < 0.3
        self.tokens = torch.where(keep, own, other) + 1

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        ids = self.tokens[i].clone()
        ids[self.lengths[i]:] = 0
        return {"input_ids": ids, "labels": self.labels[i]}
