import torch
import torch.nn as nn


def tower(n, dim):
    return nn.Sequential(nn.Embedding(n, dim), nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))


class TwoTower(nn.Module):
    def __init__(self, users, items, dim=64):
        super().__init__()
        self.user, self.item = tower(users, dim), tower(items, dim)
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1) + self.bias


class Patience:
    def __init__(self, patience=3, min_delta=1e-4):
        self.patience, self.min_delta = patience, min_delta
        self.best = float("inf")
        self.bad = 0

    def update(self, value):
        """Returns True once there was no progress for `patience` calls."""
        if value < self.best - self.min_delta:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        return self.bad >= self.patience
