import random

import torch
from torch.utils.data import Dataset

BOS, EOS = 1, 2


class ReversalCorpus(Dataset):
    """Toy translation: the target is the reversed source."""

    def __init__(self, n, vocab, seed):
        rng = random.Random(seed)
        self.pairs = []
        for _ in range(n):
            length = min(60, max(2, int(rng.lognormvariate(2.3, 0.7))))
            toks = [rng.randrange(3, vocab) for _ in range(length)]
            self.pairs.append((toks + [EOS], [BOS] + toks[::-1] + [EOS]))
        self.lengths = [len(tgt) for _, tgt in self.pairs]

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        src, tgt = self.pairs[i]
        return torch.tensor(src), torch.tensor(tgt)
