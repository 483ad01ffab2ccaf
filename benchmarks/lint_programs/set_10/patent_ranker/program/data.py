import torch
from torch.utils.data import Dataset


class PatentTriples(Dataset):
    def __init__(self, n, seed, vocab=1000, length=48):
        g = torch.Generator().manual_seed(seed)
        topic = torch.randint(0, 50, (n, 1), generator=g) * 20
        other = (topic + 20 * torch.randint(1, 50, (n, 1), generator=g)) % vocab
        self.query = topic + torch.randint(0, 20, (n, length), generator=g)
        self.pos = topic + torch.randint(0, 20, (n, length), generator=g)
        self.neg = other + torch.randint(0, 20, (n, length), generator=g)

    def __len__(self):
        return len(self.query)

    def __getitem__(self, i):
        return self.query[i], self.pos[i], self.neg[i]
