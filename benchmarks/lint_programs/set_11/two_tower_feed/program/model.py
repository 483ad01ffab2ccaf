import torch
import torch.nn as nn
import torch.nn.functional as F


class Tower(nn.Module):
    def __init__(self, num_ids, dim):
        super().__init__()
        self.emb = nn.Embedding(num_ids, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, ids):
        return F.normalize(self.mlp(self.emb(ids)), dim=-1)


class TwoTower(nn.Module):
    def __init__(self, users, items, dim=32, temperature=0.1):
        super().__init__()
        self.user, self.item = Tower(users, dim), Tower(items, dim)
        self.temperature = temperature

    def forward(self, users, items):
        """In-batch softmax over the items that the batch's users clicked."""
        logits = self.user(users) @ self.item(items).t() / self.temperature
        target = torch.arange(users.shape[0], device=users.device)
        return F.cross_entropy(logits, target)
