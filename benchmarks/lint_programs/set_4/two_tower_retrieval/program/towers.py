import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import TensorDataset


class Tower(nn.Module):
    def __init__(self, ids, dim):
        super().__init__()
        self.emb = nn.Embedding(ids, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))

    def forward(self, ids):
        return F.normalize(self.mlp(self.emb(ids)), dim=-1)


class TwoTower(nn.Module):
    def __init__(self, users, items, dim=32, temperature=0.1):
        super().__init__()
        self.user, self.item, self.temperature = Tower(users, dim), Tower(items, dim), temperature

    def forward(self, users, items):
        return self.user(users) @ self.item(items).T / self.temperature


def clicks(n, users, items, seed=0):
    """Users prefer the items of their own interest group."""
    g = torch.Generator().manual_seed(seed)
    user = torch.randint(0, users, (n,), generator=g)
    item = (user % 10) + 10 * torch.randint(0, items // 10, (n,), generator=g)
    return TensorDataset(user, item)
