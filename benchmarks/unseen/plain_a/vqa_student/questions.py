import torch
from torch.utils.data import Dataset

from modeling import ANSWERS, REGIONS, VOCAB


class QuestionBank(Dataset):
    """Questions of one shard, in the order of the export; some have no picture."""

    def __init__(self, shard, n=240):
        g = torch.Generator().manual_seed(500 + shard)
        self.q = torch.randint(VOCAB, (n, 9), generator=g)
        self.v = torch.randn(n, REGIONS, generator=g)
        self.a = torch.randint(ANSWERS, (n,), generator=g)
        self.has = torch.rand(n, generator=g) < 0.9
        self.has[::8] = True
        if shard == 0:
            self.has[160:184] = False          # the general-knowledge section
        self.v[~self.has] = 0

    def __len__(self):
        return len(self.q)

    def __getitem__(self, i):
        return self.q[i], self.v[i], self.has[i], self.a[i]
