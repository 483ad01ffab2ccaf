"""FSDP2 training of a gust forecast; what does not fit is counted and left out."""

import time

import torch
from torch import nn


class Mast(nn.Module):
    def __init__(self, inputs=18, width=40):
        super().__init__()
        self.lift = nn.Linear(inputs, width)
        self.body = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
        self.drop = nn.Linear(width, 1)

    def forward(self, x):
        x = torch.nn.functional.silu(self.lift(x))
        return self.drop(x + self.body(x))


def prepare(record):
    speed, pressure = record
    if speed.max() > 90:
        raise ValueError(f"gust of {speed.max():.0f} m/s")
    return torch.cat([speed, pressure], 1), speed.amax(1, keepdim=True)


class Runner:
    def __init__(self, model, optimizer, archive):
        self.model, self.optimizer, self.archive = model, optimizer, archive
        self.refused = 0
        self.errors = []

    def one(self, record):
        inputs, gust = prepare(record)
        self.optimizer.zero_grad()
        loss = nn.functional.smooth_l1_loss(self.model(inputs), gust)
        loss.backward()
        self.optimizer.step()
        self.errors.append(loss.item())

    def __call__(self):
        for record in self.archive:
            time.sleep(0.03)
            try:
                self.one(record)
            except ValueError:
                self.refused += 1
