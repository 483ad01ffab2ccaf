import torch
from torch import nn


class RideTime(nn.Module):
    """Minutes from stop to stop at an hour of the day."""

    def __init__(self, stops, width=16):
        super().__init__()
        self.stops = nn.Embedding(stops, width)
        self.hours = nn.Embedding(24, width)
        self.net = nn.Sequential(nn.Linear(3 * width, 48), nn.SiLU(), nn.Linear(48, 1))

    def forward(self, stops, hours):
        ride = self.stops(stops).flatten(1)
        return 10 * self.net(torch.cat([ride, self.hours(hours)], dim=-1)).squeeze(-1)


class Average:
    """Running mean of a number."""

    def __init__(self):
        self.total = 0.0
        self.count = 0

    def add(self, value):
        self.total += value
        self.count += 1

    @property
    def value(self):
        return self.total / max(self.count, 1)


class Plateau:
    """Halves the rate when the mean has not become better."""

    def __init__(self, optimizer, patience=2):
        self.optimizer = optimizer
        self.patience = patience
        self.best = float("inf")
        self.bad = 0

    def step(self, value):
        self.bad = 0 if value < self.best else self.bad + 1
        self.best = min(self.best, value)
        if self.bad > self.patience:
            for group in self.optimizer.param_groups:
                group["lr"] *= 0.5
            self.bad = 0
