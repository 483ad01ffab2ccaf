import torch
from torch import nn


class DeepFM(nn.Module):
    def __init__(self, fields, dense, buckets, dim):
        super().__init__()
        self.emb = nn.Embedding(fields * buckets, dim)
        self.first = nn.Embedding(fields * buckets, 1)
        nn.init.normal_(self.emb.weight, std=0.01)
        nn.init.zeros_(self.first.weight)
        self.register_buffer("base", torch.arange(fields) * buckets)
        self.deep = nn.Sequential(
            nn.Linear(fields * dim + dense, 256), nn.ReLU(),
            nn.Linear(256, 128), nn.ReLU(),
            nn.Linear(128, 1),
        )

    def forward(self, cat, num):
        idx = cat + self.base
        e = self.emb(idx)
        fm = 0.5 * (e.sum(1).pow(2) - e.pow(2).sum(1)).sum(1)
        deep = self.deep(torch.cat([e.flatten(1), num], 1)).squeeze(1)
        return fm + deep + self.first(idx).sum((1, 2))
