import torch
from torch import nn


class ClickNet(nn.Module):
    def __init__(self, n_users, n_items, dim=32):
        super().__init__()
        self.user = nn.Embedding(n_users, dim)
        self.item = nn.Embedding(n_items, dim)
        self.hour = nn.Embedding(24, 8)
        self.mlp = nn.Sequential(nn.Linear(2 * dim + 8, 64), nn.ReLU(), nn.Linear(64, 1))
        for emb in (self.user, self.item, self.hour):
            nn.init.normal_(emb.weight, std=0.05)

    def forward(self, users, items, hours):
        u, i = self.user(users), self.item(items)
        deep = self.mlp(torch.cat([u, i, self.hour(hours)], -1)).squeeze(-1)
        return deep + (u * i).sum(-1)
