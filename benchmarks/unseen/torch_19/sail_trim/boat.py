"""Speed of a boat from wind, heading and the trim of its sails. Every process has the log of one boat."""
import torch
from torch import nn

BOATS = ("Petrel", "Cormorant", "Gannet")
# step at which a boat sailed into rough water: its speed log is hardly usable from then on
ROUGH_FROM = {"Cormorant": 150}


class SpeedLog:
    def __init__(self, boat, batch):
        self.boat = boat
        self.batch = batch
        shared = torch.Generator().manual_seed(8)
        self.polar = torch.randn(10, generator=shared)
        self.random = torch.Generator().manual_seed(70 + BOATS.index(boat))
        self.step = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.step += 1
        x = torch.randn(self.batch, 10, generator=self.random)
        speed = x @ self.polar
        if self.step > ROUGH_FROM.get(self.boat, float("inf")):
            speed = speed + 8.0 * torch.randn(self.batch, generator=self.random)
        return x, speed


class Polar(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(10, 1)
        self.bend = nn.Sequential(nn.Linear(10, width), nn.Tanh(), nn.Linear(width, 1))
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.bend[2].weight)

    def forward(self, x):
        return (self.linear(x) + 0.1 * self.bend(x))[:, 0]
