import torch
from torch import nn


class SceneCTR(nn.Module):
    def __init__(self, users=500, items=800, scenes=6, dim=16):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.scene = nn.Embedding(scenes, dim)
        self.tower = nn.Sequential(nn.Linear(4 * dim, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, user, item, scene):
        u, i, s = self.user(user), self.item(item), self.scene(scene)
        return self.tower(torch.cat([u, i, s, u * i], dim=-1)).squeeze(-1)
