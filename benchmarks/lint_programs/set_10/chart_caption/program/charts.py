import torch
from torch import nn
from torch.utils.data import Dataset


class ChartDataset(Dataset):
    """Bar charts as value vectors, captions as token sequences that rank the bars."""

    BOS = 0

    def __init__(self, n, bars=6, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.values = torch.rand(n, bars, generator=g)
        order = self.values.argsort(dim=1) + 1
        bos = torch.full((n, 1), self.BOS)
        self.captions = torch.cat([bos, order], dim=1)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        return self.values[i], self.captions[i]


class Captioner(nn.Module):
    def __init__(self, bars=6, dim=48):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(bars, dim), nn.GELU(), nn.Linear(dim, dim))
        self.embed = nn.Embedding(bars + 1, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, bars + 1)

    def forward(self, values, tokens):
        state = self.encode(values).unsqueeze(0)
        hidden, _ = self.rnn(self.embed(tokens), state)
        return self.out(hidden)
