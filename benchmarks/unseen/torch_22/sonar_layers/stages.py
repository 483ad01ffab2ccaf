"""Parts of the network that finds the sediment's layers in a sonar trace; a process has one of them."""
import torch
from torch import nn

SAMPLES, WIDTH, LAYERS = 48, 32, 4


def build(stage, stages):
    torch.manual_seed(20 + stage)
    if stage == 0:
        return nn.Sequential(nn.Linear(SAMPLES, WIDTH), nn.Tanh())
    if stage == stages - 1:
        return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, LAYERS))
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh())


class Survey:
    """Traces with echoes at the depths of the layers. The first and the last stage draw the same ones."""

    def __init__(self, batch, seed=9):
        self.batch = batch
        self.generator = torch.Generator().manual_seed(seed)
        self.axis = torch.linspace(0.0, 1.0, SAMPLES)

    def next(self):
        depths = torch.rand(self.batch, LAYERS, generator=self.generator).sort(dim=1).values
        echoes = torch.exp(-((self.axis[None, None] - depths[..., None]) ** 2) / 0.004)
        return echoes.sum(1) + 0.05 * torch.randn(self.batch, SAMPLES, generator=self.generator), depths


class Patience:
    """Says when the error has not become smaller by `least` for `steps` steps."""

    def __init__(self, steps, least):
        self.steps = steps
        self.least = least
        self.best = float("inf")
        self.since = 0

    def exhausted(self, error):
        if error < self.best - self.least:
            self.best = error
            self.since = 0
        else:
            self.since += 1
        return self.since >= self.steps
